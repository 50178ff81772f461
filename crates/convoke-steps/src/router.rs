//! The router step: one step out of several, chosen by the state.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, EventKind, Nature, Outline, Scope, SharedStep, Step};

use crate::StepsError;

/// Runs the first step whose condition holds.
///
/// Conditions are looked at in declared order, and not beyond the first that holds. Without a match and without
/// [`otherwise`](Self::otherwise), it fails with [`StepsError::NoRoute`].
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::{Router, func};
///
/// let router = Router::new("priority")
///     .route("high", |n: &u32| *n > 7, func("page", |_: &mut u32| Ok::<_, Error>(())))
///     .otherwise(func("queue", |_: &mut u32| Ok::<_, Error>(())));
/// ```
pub struct Router<S> {
    name: String,
    routes: Vec<Route<S>>,
    otherwise: Option<SharedStep<S>>,
}

struct Route<S> {
    name: String,
    condition: Box<dyn Fn(&S) -> bool + Send + Sync>,
    step: SharedStep<S>,
}

impl<S> Router<S> {
    /// A router without routes.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), routes: Vec::new(), otherwise: None }
    }

    /// Adds a route.
    #[must_use]
    pub fn route(
        mut self,
        name: impl Into<String>,
        condition: impl Fn(&S) -> bool + Send + Sync + 'static,
        step: impl Step<S> + 'static,
    ) -> Self {
        self.routes.push(Route { name: name.into(), condition: Box::new(condition), step: Arc::new(step) });
        self
    }

    /// Sets the step to run when no condition holds.
    #[must_use]
    pub fn otherwise(mut self, step: impl Step<S> + 'static) -> Self {
        self.otherwise = Some(Arc::new(step));
        self
    }

    fn choose(&self, state: &S) -> Result<(&str, &SharedStep<S>), StepsError> {
        let matching = self.routes.iter().find(|route| (route.condition)(state));
        match (matching, &self.otherwise) {
            (Some(route), _) => Ok((&route.name, &route.step)),
            (None, Some(step)) => Ok(("default", step)),
            (None, None) => Err(StepsError::NoRoute),
        }
    }
}

impl<S: Send + 'static> Step<S> for Router<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let (route, step) = self.choose(state).map_err(Error::failed)?;
            if scope.has_listeners() {
                scope.emit(EventKind::RouteSelected { route: route.to_owned() }).await;
            }
            scope.run(&**step, state).await
        })
    }

    fn kind(&self) -> &'static str {
        "router"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn outline(&self) -> Outline {
        let steps = self.routes.iter().map(|route| &route.step).chain(&self.otherwise);
        Outline::composite(&self.name, self.kind(), steps.map(|step| step.outline()))
    }
}
