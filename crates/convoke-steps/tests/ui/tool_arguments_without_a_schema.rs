//! The model is told the schema of a tool's arguments.

use convoke_agent::FunctionTool;
use convoke_core::Error;

#[derive(serde::Deserialize)]
struct City {
    city: String,
}

fn main() {
    let _ = FunctionTool::new("weather", "Looks up the weather.", |place: City| async move {
        Ok::<_, Error>(format!("sunny in {}", place.city))
    });
}
