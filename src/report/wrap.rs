//! Long lines on a terminal: broken between words, under their own indentation, commands in backticks kept whole.

/// A narrower screen is left to itself.
const NARROWEST: usize = 40;

/// `text` for a screen of this width. Differences stay as they are.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let mut screen = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let is_difference = line.trim_start_matches(is_code).starts_with(['+', '-', '@']);
        if width < NARROWEST || is_difference || visible(line.trim_end()) <= width {
            screen.push_str(line);
        } else {
            break_up(&mut screen, line, width);
        }
    }
    screen
}

fn break_up(screen: &mut String, line: &str, width: usize) {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let hanging = " ".repeat(indent + 2);
    screen.push_str(&line[..indent]);
    let mut column = indent;
    for (index, word) in words(line[indent..].trim_end_matches('\n')).into_iter().enumerate() {
        let long = visible(word);
        if index == 0 {
            column += long;
        } else if column + 1 + long <= width {
            screen.push(' ');
            column += 1 + long;
        } else {
            screen.push('\n');
            screen.push_str(&hanging);
            column = hanging.len() + long;
        }
        screen.push_str(word);
    }
    screen.push('\n');
}

/// Parts between blanks outside of backticks.
fn words(line: &str) -> Vec<&str> {
    let mut in_command = false;
    line.split(|c| {
        in_command ^= c == '`';
        c == ' ' && !in_command
    })
    .collect()
}

/// How many columns a text takes: colours take none.
fn visible(text: &str) -> usize {
    let mut in_code = false;
    let mut columns = 0;
    for character in text.chars() {
        match (in_code, character) {
            (false, '\u{1b}') => in_code = true,
            (true, 'm') => in_code = false,
            (true, _) => {}
            (false, _) => columns += 1,
        }
    }
    columns
}

/// A colour at the start of a line.
fn is_code(character: char) -> bool {
    matches!(character, '\u{1b}' | '[' | ';' | 'm' | '0'..='9')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{visible, wrapped};

    #[test]
    fn lines_are_broken_under_their_indentation() {
        let text =
            "head\n  help: set the variable in the step; then run `a command of four words` and commit the lock\n";
        let screen = "head\n  help: set the variable in the step;\n    then run `a command of four words`\n    and commit the lock\n";
        assert_eq!(wrapped(text, 40), screen);
        assert_eq!(wrapped(text, 39), text);
    }

    #[test]
    fn what_is_difference_stays() {
        let long = "x ".repeat(60);
        for line in [format!("+{long}\n"), format!("\u{1b}[32m+{long}\u{1b}[0m\n")] {
            assert_eq!(wrapped(&line, 80), line);
        }
    }

    #[test]
    fn colours_take_no_room() {
        assert_eq!(visible("\u{1b}[1m\u{1b}[31mab\u{1b}[0m"), 2);
    }

    proptest! {
        /// No word is lost or cut, and no line with two words is too long.
        #[test]
        fn only_blanks_become_ends_of_lines(text in "( {0,3}[a-z]{1,12}( [a-z`]{1,12}){0,30}\n){0,3}", width in 40_usize..120) {
            let screen = wrapped(&text, width);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&screen), words(&text));
            for line in screen.lines() {
                prop_assert!(visible(line) <= width || line.contains('`') || !line.trim().contains(' '), "{}", line);
            }
        }
    }
}
