//! The rows of the table, in groups that are measured together.

mod footprint;
mod limits;
mod speed;
mod trouble;

use crate::Error;
use crate::bench::Bench;
use crate::table::Row;

/// Rows that come from one series of runs.
pub struct Group {
    pub names: &'static [&'static str],
    pub measure: fn(&Bench) -> Result<Vec<Row>, Error>,
}

pub const GROUPS: &[Group] = &[
    Group { names: &["P1"], measure: speed::marginal },
    Group { names: &["P2"], measure: speed::whole },
    Group { names: &["P3"], measure: speed::wall },
    Group { names: &["P4"], measure: speed::many_workers },
    Group { names: &["P5"], measure: footprint::memory },
    Group { names: &["P6"], measure: footprint::start },
    Group { names: &["P7", "P8"], measure: limits::with_headers },
    Group { names: &["P9"], measure: limits::without_headers },
    Group { names: &["P10"], measure: trouble::faults },
    Group { names: &["P11"], measure: trouble::errors_are_no_failures },
    Group { names: &["P12"], measure: trouble::spent_quota },
    Group { names: &["P13"], measure: trouble::killed },
    Group { names: &["P14"], measure: footprint::again },
];
