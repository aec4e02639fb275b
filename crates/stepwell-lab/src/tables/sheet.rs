//! A table as text.

/// Rows under a header; the first columns are names, the rest numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// Columns.
    pub header: Vec<String>,
    /// How many of them are names.
    pub names: usize,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    /// An empty one.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>, names: usize) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), names, rows: Vec::new() }
    }

    /// The same without its first column.
    pub fn without_first(mut self) -> Self {
        self.names = self.names.saturating_sub(1);
        std::iter::once(&mut self.header)
            .chain(&mut self.rows)
            .for_each(|row| drop(row.drain(..row.len().min(1))));
        self
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: String = (0..self.header.len())
            .map(|column| if column < self.names { "|---" } else { "|--:" })
            .chain(["|\n"])
            .collect();
        line(&self.header) + &rule + &self.rows.iter().map(|row| line(row)).collect::<String>()
    }

    /// As comma-separated values.
    pub fn csv(&self) -> String {
        let quoted = |cell: &String| match cell.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.clone(),
        };
        let line = |cells: &Vec<String>| cells.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.header).chain(&self.rows).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_separators_stay_whole() {
        let mut sheet = Sheet::new(["set", "right"], 1);
        sheet.rows.push(vec!["a,\"b\"|c".into(), "1.0".into()]);
        assert_eq!(sheet.csv(), "set,right\n\"a,\"\"b\"\"|c\",1.0\n");
        assert_eq!(sheet.markdown(), "| set | right |\n|---|--:|\n| a,\"b\"\\|c | 1.0 |\n");
    }
}
