//! When a failed node is tried again, and after how long.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{NodeError, NodeErrorKind};

/// When a failed node is tried again within one call. Without one, or with one attempt, it is not.
///
/// The interval grows from attempt to attempt and is then spread by [`Jitter`]. By default every error is tried again
/// but those that come out the same each time: jumps to unknown nodes, arguments and answers of the wrong form.
/// A question ([`Runtime::interrupt`](crate::Runtime::interrupt)) is no error and is never tried again.
///
/// ```
/// use std::time::Duration;
/// use superstep_graph_core::RetryPolicy;
///
/// let policy = RetryPolicy::attempts(4)
///     .initial_interval(Duration::from_millis(200))
///     .when(|error| error.downcast_ref::<std::io::Error>().is_some());
/// # let _ = policy;
/// ```
#[derive(Clone)]
#[must_use = "a policy does nothing until it is given to a node"]
pub struct RetryPolicy {
    attempts: u32,
    initial: Duration,
    factor: f64,
    max: Duration,
    jitter: Jitter,
    when: Arc<dyn Fn(&NodeError) -> bool + Send + Sync>,
}

/// How the intervals between attempts are spread, so that many runs which failed together do not come back together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Jitter {
    /// Not at all.
    None,
    /// Anywhere between nothing and the interval.
    #[default]
    Full,
    /// Anywhere between half the interval and the interval.
    Half,
}

impl RetryPolicy {
    /// So many attempts in all, the first included; at least 1. Half a second before the second attempt, twice as long
    /// before each further one, never more than two minutes.
    pub fn attempts(attempts: u32) -> Self {
        Self {
            attempts,
            initial: Duration::from_millis(500),
            factor: 2.0,
            max: Duration::from_mins(2),
            jitter: Jitter::default(),
            when: Arc::new(may_differ),
        }
    }

    /// The interval before the second attempt.
    pub fn initial_interval(mut self, interval: Duration) -> Self {
        self.initial = interval;
        self
    }

    /// By how much each interval is longer than the one before; at least 1.
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// The longest interval.
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.max = interval;
        self
    }

    /// How intervals are spread.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// Which errors are tried again, in place of the default.
    pub fn when(mut self, retry: impl Fn(&NodeError) -> bool + Send + Sync + 'static) -> Self {
        self.when = Arc::new(retry);
        self
    }

    /// Whether to try again after so many failed attempts, the last with this error.
    pub fn allows(&self, error: &NodeError, failed_attempts: u32) -> bool {
        failed_attempts < self.attempts && error.kind() != NodeErrorKind::Interrupted && (self.when)(error)
    }

    /// How long to wait after so many failed attempts. `random` is a number from 0 to 1 that decides the jitter.
    pub fn delay(&self, failed_attempts: u32, random: f64) -> Duration {
        let exponent = i32::try_from(failed_attempts.saturating_sub(1)).unwrap_or(i32::MAX);
        let grown = self.initial.as_secs_f64() * self.factor.powi(exponent);
        let interval = Duration::try_from_secs_f64(grown).map_or(self.max, |grown| grown.min(self.max));
        interval.mul_f64(self.jitter.share(random))
    }

    pub(crate) fn has_attempts(&self) -> bool {
        self.attempts > 0
    }

    pub(crate) fn has_valid_factor(&self) -> bool {
        self.factor.is_finite() && self.factor >= 1.0
    }
}

impl Jitter {
    /// Which part of an interval is waited.
    fn share(self, random: f64) -> f64 {
        let random = if random.is_nan() { 1.0 } else { random.clamp(0.0, 1.0) };
        match self {
            Self::None => 1.0,
            Self::Full => random,
            Self::Half => 0.5 + random / 2.0,
        }
    }
}

/// Whether another attempt may end otherwise.
fn may_differ(error: &NodeError) -> bool {
    match error.kind() {
        NodeErrorKind::Fault | NodeErrorKind::Panicked => true,
        NodeErrorKind::Interrupted
        | NodeErrorKind::UnknownNode
        | NodeErrorKind::UnknownRoute
        | NodeErrorKind::WrongForm => false,
    }
}

/// One attempt.
impl Default for RetryPolicy {
    fn default() -> Self {
        Self::attempts(1)
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPolicy")
            .field("attempts", &self.attempts)
            .field("initial", &self.initial)
            .field("factor", &self.factor)
            .field("max", &self.max)
            .field("jitter", &self.jitter)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(jitter: Jitter) -> RetryPolicy {
        RetryPolicy::attempts(9).initial_interval(Duration::from_secs(1)).jitter(jitter)
    }

    #[test]
    fn intervals_grow_up_to_the_longest() {
        let policy = policy(Jitter::None).factor(3.0).max_interval(Duration::from_secs(20));
        let seconds: Vec<_> = (0..=5).map(|failed| policy.delay(failed, 0.3).as_secs()).collect();
        assert_eq!(seconds, [1, 1, 3, 9, 20, 20]);
        assert_eq!(policy.delay(u32::MAX, 0.3).as_secs(), 20);
    }

    #[test]
    fn jitter_only_shortens() {
        assert_eq!(policy(Jitter::Full).delay(1, 0.25), Duration::from_millis(250));
        assert_eq!(policy(Jitter::Half).delay(1, 0.5), Duration::from_millis(750));
        for odd in [f64::NAN, -1.0, 2.0, f64::INFINITY] {
            assert!(policy(Jitter::Full).delay(3, odd) <= Duration::from_secs(4));
        }
    }

    #[test]
    fn strange_factors_do_not_panic() {
        for factor in [f64::NAN, f64::INFINITY, -2.0, 0.0] {
            let policy = policy(Jitter::None).factor(factor);
            assert!(!policy.has_valid_factor());
            assert!(policy.delay(40, 0.5) <= Duration::from_mins(2));
        }
    }

    #[test]
    fn errors_that_stay_the_same_are_not_tried_again() {
        let policy = RetryPolicy::attempts(2);
        assert!(policy.allows(&NodeError::msg("down"), 1));
        assert!(!policy.allows(&NodeError::msg("down"), 2));
        assert!(!policy.allows(&NodeError::unknown_route("x".into()), 1));
        assert!(policy.clone().when(|_| true).allows(&NodeError::unknown_route("x".into()), 1));
        assert!(!policy.when(|_| true).allows(&NodeError::interrupted(), 1));
        assert!(!RetryPolicy::default().allows(&NodeError::msg("down"), 1));
    }
}
