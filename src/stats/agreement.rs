//! How well a judge agrees with people who passed or failed the same outputs.

/// Outputs by what people and the judge said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Both pass.
    pub both: u64,
    /// The judge passes what people fail.
    pub judge_only: u64,
    /// The judge fails what people pass.
    pub people_only: u64,
    /// Both fail.
    pub neither: u64,
}

impl Confusion {
    /// Counts one output.
    pub fn see(&mut self, people: bool, judge: bool) {
        let count = match (people, judge) {
            (true, true) => &mut self.both,
            (false, true) => &mut self.judge_only,
            (true, false) => &mut self.people_only,
            (false, false) => &mut self.neither,
        };
        *count = count.saturating_add(1);
    }

    pub fn total(&self) -> u64 {
        self.both.saturating_add(self.judge_only).saturating_add(self.people_only).saturating_add(self.neither)
    }

    /// Outputs on which they agree.
    pub fn agreed(&self) -> u64 {
        self.both.saturating_add(self.neither)
    }

    /// The share of outputs on which they agree; `None` without outputs.
    pub fn accuracy(&self) -> Option<f64> {
        let total = self.total();
        (total > 0).then(|| self.agreed() as f64 / total as f64)
    }

    /// Cohen's kappa: agreement beyond what their rates alone would give, at most 1, 0 for chance.
    ///
    /// **Errors**: `None` without outputs, and where both always say the same one thing, of which kappa knows nothing.
    /// **Source**: J. Cohen, A coefficient of agreement for nominal scales, Educ. Psychol. Meas. 20 (1960).
    ///
    /// ```
    /// use scoregate::stats::Confusion;
    /// let seen = Confusion { both: 20, judge_only: 10, people_only: 5, neither: 15 };
    /// assert!((seen.kappa().unwrap() - 0.4).abs() < 1e-12);
    /// ```
    pub fn kappa(&self) -> Option<f64> {
        let total = self.total() as f64;
        let observed = self.accuracy()?;
        let (people, judge) =
            ((self.both + self.people_only) as f64 / total, (self.both + self.judge_only) as f64 / total);
        let by_chance = people * judge + (1.0 - people) * (1.0 - judge);
        (by_chance < 1.0).then(|| (observed - by_chance) / (1.0 - by_chance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_by_chance_is_none() {
        let half = Confusion { both: 25, judge_only: 25, people_only: 25, neither: 25 };
        assert_eq!((half.accuracy(), half.kappa()), (Some(0.5), Some(0.0)));
        let full = Confusion { both: 3, neither: 7, ..Confusion::default() };
        assert_eq!((full.accuracy(), full.kappa()), (Some(1.0), Some(1.0)));
        let one_word = Confusion { both: 10, ..Confusion::default() };
        assert_eq!((one_word.accuracy(), one_word.kappa()), (Some(1.0), None));
        assert_eq!((Confusion::default().accuracy(), Confusion::default().kappa()), (None, None));
    }
}
