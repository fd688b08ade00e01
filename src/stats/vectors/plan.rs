//! Looks, levels, sensitivity (§10, §17).

use super::super::*;
use super::*;

#[test]
fn sensitivity_vectors() {
    for vector in vectors("sensitivity") {
        let input = &vector["input"];
        let number = |name: &str| input[name].as_f64().unwrap();
        let id = vector["id"].as_str().unwrap();
        if id.starts_with("mde") {
            let (deviation, n, alpha) = (number("sd"), number("n") as u64, number("alpha"));
            near(&vector, "mde", detectable_drop_at(deviation, n, alpha, number("power")));
            if number("power") == 0.8 {
                near(&vector, "mde", detectable_drop(deviation, n, alpha));
            }
        } else if id.starts_with("need") {
            near(&vector, "n", cases_needed(number("sd"), number("delta"), number("alpha")) as f64);
        } else if id.starts_with("mcpow") {
            let power = binary_power(number("n") as u64, number("p_break"), number("p_fix"), number("alpha"));
            near(&vector, "power", power);
        } else {
            let (within, base) = (number("var_within"), number("trials_base"));
            let parts = variance_parts(number("sd_d"), within, number("k_cand"), base);
            near(&vector, "noise", parts.0);
            near(&vector, "heterogeneity", parts.1);
            let trials = trials_needed(parts, within, base, number("n") as u64, number("delta"), number("alpha"));
            assert_eq!(trials.map(u64::from), vector["expected"]["k"].as_u64(), "{id}");
        }
    }
}

#[test]
fn sequential_vectors() {
    for vector in vectors("sequential") {
        let input = &vector["input"];
        let mean = floats(&input["p_mean"]);
        if vector["id"].as_str().unwrap().starts_with("look1") {
            let levels = LookLevels { breaks: 0.01, mean: 0.01, phi: 0.5 };
            let (action, by) = match look(&mean, &floats(&input["p_breaks"]), levels) {
                LookAction::StopBreaks => ("stop_regressed", "breaks"),
                LookAction::StopMean => ("stop_regressed", "mean"),
                LookAction::StopNoSign => ("stop", "no_sign"),
                LookAction::Extend => ("extend", "suspicious"),
            };
            assert_eq!((action, by), (&*text(&vector, "action"), &*text(&vector, "by")), "{}", vector["id"]);
            continue;
        }
        let breaks = if input["has_breaks"].as_bool().unwrap() { 0.01 } else { 0.0 };
        let second = 0.05 - breaks - 0.01;
        near(&vector, "alpha2", second);
        let levels = LookLevels { breaks: 0.0, mean: second, phi: 0.5 };
        let rejected = vector["expected"]["rejected"].as_array().unwrap().iter().any(|one| one.as_bool().unwrap());
        assert_eq!(look(&mean, &[], levels) == LookAction::StopMean, rejected, "{}", vector["id"]);
    }
}

#[test]
fn group_sequential_vectors() {
    for vector in vectors("group_sequential") {
        let input = &vector["input"];
        let (alpha, shares) = (input["alpha"].as_f64().unwrap(), floats(&input["fractions"]));
        let kind = if input["kind"] == "obf" { Spending::ObrienFleming } else { Spending::Pocock };
        let boundaries = sequential_boundaries(kind, alpha, &shares);
        let mut before = 0.0;
        for (at, share) in shares.iter().enumerate() {
            let now = spent(kind, alpha, *share);
            let close = |name: &str, got: f64, tolerance: f64| {
                let want = vector["expected"][name][at].as_f64().unwrap();
                assert!((got - want).abs() <= tolerance, "{} {name} {at}: {got}, not {want}", vector["id"]);
            };
            close("spent", now, 1e-10);
            close("increments", now - before, 1e-10);
            close("z", boundaries[at], 1e-4);
            close("nominal_alpha", normal_cdf(-boundaries[at]), 1e-6);
            before = now;
        }
    }
}
