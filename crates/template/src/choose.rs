//! Which pieces make up the answer.

use crate::piece::{Form, Piece, pieces};
use crate::score::{Need, Score};
use crate::settings::TemplateSettings;
use crate::source::Source;

/// Pieces of the best article at most.
const MOST_FROM_LEAD: usize = 4;
/// A further piece of the best article has at least this share of the best piece's score.
const LEAD_SHARE: f32 = 0.6;
/// And further steps this share, if the question asks how; a list that is not asked for buries the answer.
const LIST_SHARE: f32 = 0.8;
/// Pieces of the best article that there are in any case, if it has others with a word of the question.
const LEAST_FROM_LEAD: usize = 3;
/// A piece of another article has at least this share of the best piece's evidence.
const OTHER_SHARE: f32 = 0.8;
/// And at least this share of the question's words, unless it has more evidence than the best one.
const OTHER_COVERAGE: f32 = 0.5;
/// Or its article did at least this well in the search beside the best one, so that the search could not tell them
/// apart, and the best piece has less than this share of the question's words, so that they do not tell either.
const TIED: f32 = 0.9;
const UNSURE_COVERAGE: f32 = 0.6;
/// It then has at least this share of the best piece's evidence.
const TIED_SHARE: f32 = 0.55;
/// Added to the score of a piece next to the best one, which often completes it.
const NEXT_TO_BEST: f32 = 0.15;
/// What the best piece's score counts as at least, when others are compared with it: where nothing speaks for it, it
/// may be zero or less, and shares of that would put the others in the wrong order. Less than any one word gives.
const LEAST_BEST: f32 = 0.01;
/// Characters up to which a list is quoted whole, although only some of its items matter.
const SMALL_LIST: usize = 320;

/// A piece as it will be quoted.
pub(crate) struct Chosen {
    /// Index of the source.
    pub source: usize,
    pub form: Form,
    /// Indices of the units quoted, ascending; never empty.
    pub units: Vec<usize>,
    /// Whether the last unit or those after it did not fit.
    pub broken_off: bool,
    /// How much speaks for it.
    pub worth: f32,
}

/// What goes into the answer: the best article's pieces in reading order, then one of each other relevant article.
/// Empty only if no hit has any text.
pub(crate) fn choose(
    sources: &[Source<'_>],
    need: &Need,
    settings: &TemplateSettings,
) -> Vec<Chosen> {
    let all = candidates(sources, need);
    let Some(best) = best(&all) else { return Vec::new() };
    let mut choice = Choice { sources, need, settings, best, picked: Vec::new(), spent: 0 };
    choice.pick_best();
    choice.pick_from_lead(&all);
    choice.pick_from_others(&all);
    choice.in_reading_order()
}

struct Candidate {
    piece: Piece,
    score: Score,
}

/// All that could be quoted; what cannot stand alone only where there is nothing else.
fn candidates(sources: &[Source<'_>], need: &Need) -> Vec<Candidate> {
    let all = sources.iter().enumerate().flat_map(|(index, source)| pieces(index, source));
    let (standing, rest): (Vec<Piece>, Vec<Piece>) =
        all.partition(|piece| piece.stands_alone(&sources[piece.source]));
    let pieces = if standing.is_empty() { rest } else { standing };
    let scored =
        |piece: Piece| Candidate { score: need.score(&piece, &sources[piece.source]), piece };
    pieces.into_iter().map(scored).collect()
}

/// The candidate with the highest score; of equal ones, the first.
fn best(all: &[Candidate]) -> Option<&Candidate> {
    all.iter().rev().max_by(|a, b| a.score.total.total_cmp(&b.score.total))
}

/// An answer being put together.
struct Choice<'a> {
    sources: &'a [Source<'a>],
    need: &'a Need,
    settings: &'a TemplateSettings,
    best: &'a Candidate,
    picked: Vec<(&'a Piece, Chosen)>,
    /// Characters of what has been picked.
    spent: usize,
}

impl<'a> Choice<'a> {
    fn pick_best(&mut self) {
        let piece = &self.best.piece;
        let mut units = self.narrowed(piece);
        let broken_off = self.cut_to_fit(piece, &mut units);
        self.pick(self.best, units, broken_off);
    }

    /// Adds the best article's next best pieces, best first.
    fn pick_from_lead(&mut self, all: &'a [Candidate]) {
        let mut further: Vec<(f32, &Candidate)> = all
            .iter()
            .filter(|candidate| self.is_from_lead(&candidate.piece))
            .filter(|candidate| {
                candidate.score.coverage > 0.0 || self.is_next_to_best(&candidate.piece)
            })
            .map(|candidate| (self.share_of_best(candidate), candidate))
            .collect();
        further.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        for (share, candidate) in further {
            let least = match candidate.piece.form {
                Form::Sentence if self.picked.len() < LEAST_FROM_LEAD => 0.0,
                Form::Sentence => LEAD_SHARE,
                Form::Steps if self.need.asks_how() => LIST_SHARE,
                Form::Steps | Form::Bullets | Form::Table => f32::INFINITY,
            };
            if share >= least && self.picked.len() < MOST_FROM_LEAD {
                self.pick_whole(candidate);
            }
        }
    }

    /// How a piece of the best article compares with the best one.
    fn share_of_best(&self, candidate: &Candidate) -> f32 {
        let bonus = if self.is_next_to_best(&candidate.piece) { NEXT_TO_BEST } else { 0.0 };
        (candidate.score.within + bonus) / self.best.score.within.max(LEAST_BEST)
    }

    /// Adds the best sentence of each other article that has as much to say.
    fn pick_from_others(&mut self, all: &'a [Candidate]) {
        let lead = &self.sources[self.best.piece.source].passage;
        let least = OTHER_SHARE * self.best.score.evidence;
        let mut others: Vec<&Candidate> = all
            .iter()
            .filter(|candidate| {
                let says_as_much =
                    candidate.score.coverage >= OTHER_COVERAGE && candidate.score.evidence >= least;
                says_as_much || self.is_tied(candidate)
            })
            .filter(|Candidate { piece, .. }| {
                let source = &self.sources[piece.source];
                // Two languages in one answer read badly, and a translation says nothing new.
                piece.form == Form::Sentence
                    && !piece.leans_back(source)
                    && source.passage.lang == lead.lang
            })
            .collect();
        others.sort_by(|a, b| b.score.total.total_cmp(&a.score.total));
        for candidate in others {
            if !self.has_article_of(&candidate.piece) {
                self.pick_whole(candidate);
            }
        }
    }

    /// Whether neither the search nor the question's words tell its article from the best one's.
    fn is_tied(&self, candidate: &Candidate) -> bool {
        self.best.score.coverage < UNSURE_COVERAGE
            && candidate.score.evidence >= TIED_SHARE * self.best.score.evidence
            && self.sources[candidate.piece.source].article_strength >= TIED
    }

    fn in_reading_order(self) -> Vec<Chosen> {
        let sources = self.sources;
        let best = self.best.piece.source;
        let lead = &sources[best].passage.article_id;
        let mut chosen: Vec<Chosen> = self.picked.into_iter().map(|(_, chosen)| chosen).collect();
        chosen.sort_by_key(|chosen| {
            let source = &sources[chosen.source];
            let from_lead = source.passage.article_id == *lead;
            // The passage with the decisive sentence first.
            let place = match (chosen.source == best, from_lead) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2 + source.rank,
            };
            (place, source.passage.ordinal, chosen.source, chosen.units.first().copied())
        });
        chosen
    }

    /// Picks a piece if it is new and fits as a whole.
    fn pick_whole(&mut self, candidate: &'a Candidate) {
        let piece = &candidate.piece;
        let units = self.narrowed(piece);
        let room = self.settings.longest.saturating_sub(self.spent);
        let is_new = !self.picked.iter().any(|(other, _)| other.repeats(piece));
        let within_passages =
            self.has_source(piece) || self.sources_picked() < self.settings.most_passages;
        let within_sentences = self.picked.len() < self.settings.most_sentences;
        if is_new && within_passages && within_sentences && self.length(piece, &units) <= room {
            self.pick(candidate, units, false);
        }
    }

    fn pick(
        &mut self,
        Candidate { piece, score }: &'a Candidate,
        units: Vec<usize>,
        broken_off: bool,
    ) {
        self.spent += self.length(piece, &units);
        let chosen = Chosen {
            source: piece.source,
            form: piece.form,
            units,
            broken_off,
            worth: score.within,
        };
        self.picked.push((piece, chosen));
    }

    /// The units of a piece that are worth quoting: all, except of a table or a long list some of whose items the
    /// question asks for.
    fn narrowed(&self, piece: &Piece) -> Vec<usize> {
        let units = &self.sources[piece.source].units;
        let all: Vec<usize> = piece.units.clone().filter(|&unit| units[unit].has_words()).collect();
        let all = if all.is_empty() { piece.units.clone().collect() } else { all };
        let narrows = match piece.form {
            Form::Sentence | Form::Steps => false,
            Form::Bullets => self.length(piece, &all) > SMALL_LIST,
            Form::Table => true,
        };
        let coverage = |unit: usize| self.need.coverage(&units[unit].words);
        let is_item = |unit: usize| unit > piece.units.start || !units[unit].heads_a_list();
        let most = all
            .iter()
            .filter(|&&unit| is_item(unit))
            .map(|&unit| coverage(unit))
            .fold(0.0, f32::max);
        if !narrows || most <= 0.0 {
            return all;
        }
        all.into_iter().filter(|&unit| !is_item(unit) || coverage(unit) >= most / 2.0).collect()
    }

    /// Drops units from the end until the rest fits; whether any had to go, or the one left is too long.
    fn cut_to_fit(&self, piece: &Piece, units: &mut Vec<usize>) -> bool {
        let whole = units.len();
        while units.len() > 1 && self.length(piece, units) > self.settings.longest {
            units.pop();
        }
        units.len() < whole || self.length(piece, units) > self.settings.longest
    }

    fn length(&self, piece: &Piece, units: &[usize]) -> usize {
        units.iter().map(|&unit| self.sources[piece.source].units[unit].length()).sum()
    }

    fn is_from_lead(&self, piece: &Piece) -> bool {
        self.article(piece) == self.article(&self.best.piece)
    }

    fn is_next_to_best(&self, piece: &Piece) -> bool {
        let best = &self.best.piece;
        piece.source == best.source
            && (piece.units.start == best.units.end || piece.units.end == best.units.start)
    }

    fn has_article_of(&self, piece: &Piece) -> bool {
        self.picked.iter().any(|(other, _)| self.article(other) == self.article(piece))
    }

    fn article(&self, piece: &Piece) -> &'a domain::ArticleId {
        &self.sources[piece.source].passage.article_id
    }

    fn has_source(&self, piece: &Piece) -> bool {
        self.picked.iter().any(|(other, _)| other.source == piece.source)
    }

    fn sources_picked(&self) -> usize {
        let mut picked: Vec<usize> = self.picked.iter().map(|(piece, _)| piece.source).collect();
        picked.sort_unstable();
        picked.dedup();
        picked.len()
    }
}
