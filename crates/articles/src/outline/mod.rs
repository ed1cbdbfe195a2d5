//! Builds the sections of an article out of what a reader finds in reading order.
//!
//! Readers of different formats say what begins and ends; how text, lists, tables and code are written down is
//! decided here, once.

mod flow;
mod table;

use domain::Section;

pub(crate) use self::flow::is_unspaced;
use self::flow::{Flow, Gap};
pub(crate) use self::table::CellKind;
use self::table::{Row, Table};
use crate::anchor::{AnchorStyle, Anchors};

/// An article's text being built.
#[derive(Debug)]
pub(crate) struct Outline {
    sections: Vec<Section>,
    anchors: Anchors,
    /// The headings above the current text.
    path: Vec<Heading>,
    anchor: Option<String>,
    flow: Flow,
    open: Option<OpenHeading>,
    lists: Vec<List>,
    table: Option<Table>,
    code: Option<String>,
    title: Option<String>,
    heading_texts: Vec<String>,
}

/// What an outline comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// The first heading of the first level, if it is the first heading.
    pub(crate) title: Option<String>,
    /// Sections with text, in reading order.
    pub(crate) sections: Vec<Section>,
    /// Every heading; for a page that has nothing else.
    pub(crate) headings: Vec<String>,
}

#[derive(Debug)]
struct Heading {
    level: u8,
    text: String,
}

#[derive(Debug)]
struct OpenHeading {
    level: u8,
    id: Option<String>,
    flow: Flow,
}

#[derive(Clone, Copy, Debug)]
enum List {
    Bullets,
    /// With the number of the next item.
    Numbers(u64),
}

/// Longest heading kept, in characters; it is repeated in every passage below it.
const LONGEST_HEADING: usize = 200;

/// Lists nested deeper than this are not indented further.
const DEEPEST_INDENT: usize = 4;

impl Outline {
    pub(crate) fn new(style: AnchorStyle) -> Self {
        Self {
            sections: Vec::new(),
            anchors: Anchors::new(style),
            path: Vec::new(),
            anchor: None,
            flow: Flow::default(),
            open: None,
            lists: Vec::new(),
            table: None,
            code: None,
            title: None,
            heading_texts: Vec::new(),
        }
    }

    /// Adds running text; its white space is folded.
    pub(crate) fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.push_str(text);
        } else {
            self.target().words(text);
        }
    }

    /// A line break within a paragraph.
    pub(crate) fn line_break(&mut self) {
        match (&mut self.code, &self.open) {
            (Some(code), _) => code.push('\n'),
            (None, Some(_)) => self.target().apart(Gap::Space),
            (None, None) => self.target().apart(Gap::Line),
        }
    }

    /// The boundary of a paragraph or any other block.
    pub(crate) fn block(&mut self) {
        // Parts of an item stay together; a heading is one line.
        let gap = match (&self.open, self.lists.last()) {
            (Some(_), _) => Gap::Space,
            (None, Some(_)) => Gap::Line,
            (None, None) => Gap::Paragraph,
        };
        self.target().apart(gap);
    }

    pub(crate) fn open_heading(&mut self, level: u8, id: Option<String>) {
        self.close_heading();
        self.close_code();
        // A heading inside a table, a list or code belongs to the page, not to them.
        self.dissolve_table();
        self.open = Some(OpenHeading { level, id, flow: Flow::default() });
    }

    /// Gives the open heading an id that stands inside it.
    pub(crate) fn heading_id(&mut self, id: &str) {
        if let Some(heading) = &mut self.open {
            heading.id.get_or_insert_with(|| id.to_owned());
        }
    }

    /// Whether text goes to a heading.
    pub(crate) fn in_heading(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn close_heading(&mut self) {
        let Some(mut heading) = self.open.take() else { return };
        let text: String = heading.flow.take().chars().take(LONGEST_HEADING).collect();
        if text.is_empty() {
            return;
        }
        self.close_section();
        let anchor = self.anchors.next(heading.id.as_deref(), &text);
        if heading.level == 1 && self.heading_texts.is_empty() {
            // The page's own name: what follows is the page itself, not a section of it.
            self.title = Some(text.clone());
        } else {
            self.path.retain(|above| above.level < heading.level);
            self.path.push(Heading { level: heading.level, text: text.clone() });
            self.anchor = anchor;
        }
        self.heading_texts.push(text);
    }

    pub(crate) fn open_list(&mut self, start: Option<u64>) {
        // A list within an item goes on with the item's lines.
        self.block();
        self.lists.push(start.map_or(List::Bullets, List::Numbers));
    }

    pub(crate) fn close_list(&mut self) {
        self.lists.pop();
        self.block();
    }

    pub(crate) fn open_item(&mut self) {
        let depth = self.lists.len().saturating_sub(1).min(DEEPEST_INDENT);
        let mark = match self.lists.last_mut() {
            Some(List::Numbers(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            Some(List::Bullets) | None => "- ".to_owned(),
        };
        self.target().mark(&format!("{:width$}{mark}", "", width = depth * 2));
    }

    pub(crate) fn close_item(&mut self) {
        self.target().apart(Gap::Line);
    }

    pub(crate) fn open_code(&mut self) {
        self.close_code();
        self.code = Some(String::new());
    }

    pub(crate) fn close_code(&mut self) {
        if let Some(code) = self.code.take() {
            let around = if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line };
            self.target().verbatim(&code, around);
        }
    }

    /// A table within a table makes the outer one layout.
    pub(crate) fn open_table(&mut self) {
        self.dissolve_table();
        self.block();
        self.table = Some(Table::default());
    }

    pub(crate) fn open_cell(&mut self, kind: CellKind) {
        match &mut self.table {
            Some(table) => table.open_cell(kind),
            None => self.block(),
        }
    }

    pub(crate) fn close_cell(&mut self) {
        match &mut self.table {
            Some(table) => table.close_cell(),
            None => self.block(),
        }
    }

    pub(crate) fn close_row(&mut self) {
        match &mut self.table {
            Some(table) => {
                let row = table.close_row();
                self.write_row(row);
            }
            None => self.block(),
        }
    }

    pub(crate) fn close_table(&mut self) {
        self.dissolve_table();
        self.block();
    }

    /// Whether code is being read, so that text counts as it is.
    pub(crate) fn in_code(&self) -> bool {
        self.code.is_some()
    }

    /// Closes whatever is open.
    pub(crate) fn finish(mut self) -> Body {
        self.close_code();
        self.close_heading();
        self.dissolve_table();
        self.close_section();
        Body { title: self.title, sections: self.sections, headings: self.heading_texts }
    }

    fn target(&mut self) -> &mut Flow {
        match (&mut self.open, &mut self.table) {
            (Some(heading), _) => &mut heading.flow,
            (None, Some(table)) => table.cell().unwrap_or(&mut self.flow),
            (None, None) => &mut self.flow,
        }
    }

    fn dissolve_table(&mut self) {
        if let Some(mut table) = self.table.take() {
            let row = table.finish();
            self.write_row(row);
        }
    }

    fn write_row(&mut self, row: Row) {
        match row {
            Row::Nothing => {}
            Row::Line(line) => {
                self.flow.apart(Gap::Line);
                self.flow.words(&line);
                self.flow.apart(Gap::Line);
            }
            Row::Blocks(blocks) => {
                for block in blocks {
                    self.flow.verbatim(&block, Gap::Paragraph);
                }
            }
        }
    }

    fn close_section(&mut self) {
        self.lists.clear();
        let text = self.flow.take();
        if !text.is_empty() {
            let headings = self.path.iter().map(|heading| heading.text.clone()).collect();
            self.sections.push(Section { headings, anchor: self.anchor.clone(), text });
        }
    }
}
