//! Measures one kind of work and prints a line of JSON about it, as all programs of this comparison do.

use std::time::{Duration, Instant};

/// For how long a thing is repeated.
const SPAN: Duration = Duration::from_secs(3);

/// Repeats a work of so many units, after once for nothing, and prints what a unit took.
pub async fn measure<F: Future<Output = ()>>(
    engine: &str,
    what: &str,
    units: u32,
    mut work: impl FnMut(u64) -> F,
) {
    work(0).await;
    let (began, processor, mut rounds) = (Instant::now(), on_processor(), 0_u64);
    while began.elapsed() < SPAN {
        rounds += 1;
        work(rounds).await;
    }
    let (wall, cpu) = (began.elapsed(), on_processor() - processor);
    let each = |time: Duration| time.as_secs_f64() * 1e6 / (rounds as f64 * f64::from(units));
    println!(
        r#"{{"engine": "{engine}", "what": "{what}", "wall_us": {:.3}, "cpu_us": {:.3}}}"#,
        each(wall),
        each(cpu)
    );
}

/// How long this process has been on a processor.
fn on_processor() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").expect("this is Linux");
    let of_task = |task: std::fs::DirEntry| {
        let said = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        said.split(' ').next().and_then(|nanoseconds| nanoseconds.parse().ok()).unwrap_or(0)
    };
    Duration::from_nanos(tasks.flatten().map(of_task).sum())
}
