//! The contract with everything that calls scoregate.

/// 0, 1, 2, 3, 130, 143 and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitCode {
    /// Every required check was measured and holds (or is only warned about).
    Passed,
    /// Measured, and the verdict is negative.
    Failed,
    /// The suite, its data or the command line is wrong; found before the first call.
    Usage,
    /// It could not be evaluated, or a report could not be written.
    NotEvaluated,
    /// Cancelled by SIGINT or Ctrl-C.
    Interrupted,
    /// Cancelled by SIGTERM or SIGHUP.
    Terminated,
}

impl ExitCode {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotEvaluated => 3,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// The code of that number; anything unknown is not green.
    pub(super) fn of(number: u8) -> Self {
        match number {
            0 => Self::Passed,
            1 => Self::Failed,
            2 => Self::Usage,
            130 => Self::Interrupted,
            143 => Self::Terminated,
            _ => Self::NotEvaluated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_unknown_is_green() {
        for number in 0..=u8::MAX {
            let code = ExitCode::of(number);
            assert!(code.code() == number || code == ExitCode::NotEvaluated, "{number}");
        }
    }
}
