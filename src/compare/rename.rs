//! Which added tool a missing one has probably become.

use similar::TextDiff;

/// Less alike than this is no rename.
const ALIKE: f32 = 0.6;

/// Pairs of a missing and an added name, the most alike first, each name at most once.
pub(super) fn renames<'a>(missing: &'a [String], added: &'a [String]) -> Vec<(&'a str, &'a str)> {
    // Bounded: with that many changes no single rename is worth saying.
    if missing.len() * added.len() > 2_000 {
        return Vec::new();
    }
    let mut pairs: Vec<(f32, &str, &str)> = missing
        .iter()
        .flat_map(|old| added.iter().map(move |new| (likeness(old, new), old.as_str(), new.as_str())))
        .filter(|(likeness, ..)| *likeness >= ALIKE)
        .collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let mut found: Vec<(&str, &str)> = Vec::new();
    for (_, old, new) in pairs {
        if !found.iter().any(|(known_old, known_new)| *known_old == old || *known_new == new) {
            found.push((old, new));
        }
    }
    found
}

fn likeness(old: &str, new: &str) -> f32 {
    let (old, new) = (old.to_lowercase(), new.to_lowercase());
    if old.len().max(new.len()) > 200 {
        return 0.0;
    }
    TextDiff::from_chars(&old, &new).ratio()
}

#[cfg(test)]
mod tests {
    use super::renames;

    fn of(missing: &[&str], added: &[&str]) -> Vec<(String, String)> {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (missing, added) = (own(missing), own(added));
        renames(&missing, &added).into_iter().map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
    }

    #[test]
    fn the_likely_rename_is_found_once() {
        assert_eq!(
            of(&["search_issues", "get_page"], &["jira_search_issues", "zap", "getPage"]),
            [("get_page".into(), "getPage".into()), ("search_issues".into(), "jira_search_issues".into())]
        );
        assert_eq!(of(&["fetch_daily_report"], &["list_tables"]), []);
        assert_eq!(of(&["aaaa", "aaab"], &["aaac"]), [("aaaa".into(), "aaac".into())]);
    }
}
