//! The stages that TOK2 knows, each by its opcode.

use super::stage_row::{Post, Reader};
use crate::error::Result;
use crate::text::clusters::ClusterSets;
use crate::text::decoders::Decoder;
use crate::text::normal_forms::Form;
use crate::text::normalizers::{Bert, Normalizer};
use crate::text::pattern::Pattern;
use crate::text::pre_tokenizers::{Metaspace, PreTokenizer, WordCuts};
use crate::text::scalars::push;
use crate::text::splitting::Behaviour;

impl<'r, 'a> Reader<'r, 'a> {
    /// One of the normalizers.
    pub fn normalizer(&mut self, opcode: u16) -> Result<Normalizer<'a>> {
        let flags = match opcode {
            5 => 3,
            9 => 15,
            1..=10 => 0,
            _ => return self.unknown(),
        };
        self.known(flags)?;
        Ok(match opcode {
            1 => Normalizer::Form(self.form()?),
            2 => Normalizer::Lower(self.map()?),
            3 => Normalizer::Without(self.set()?),
            4 => Normalizer::Nmt(self.set()?, self.set()?),
            5 => Normalizer::Strip(self.flag(1), self.flag(2), self.set()?),
            6 => Normalizer::Replace(self.pattern()?, self.text()?),
            7 => Normalizer::Prepend(self.filled_text()?),
            8 => Normalizer::Bytes,
            9 => Normalizer::Bert(self.bert()?),
            _ => Normalizer::Precompiled(self.charsmap()?, self.borders()?),
        })
    }

    fn form(&mut self) -> Result<Form<'a>> {
        let form = self.choice(4)?;
        let canonical = self.map()?;
        let compatible = self.map_if(form >= 2)?;
        let classes = self.classes()?;
        let composed = if form % 2 == 0 { Some(self.compositions()?) } else { self.none()? };
        Ok(Form { canonical, compatible, classes, composed })
    }

    fn bert(&mut self) -> Result<Bert<'a>> {
        let [clean, chinese, accents, lower] = [1, 2, 4, 8].map(|bit| self.flag(bit));
        let (removed, space) = (self.set_if(clean)?, self.set_if(clean)?);
        let ideographs = self.set_if(chinese)?;
        let canonical = self.map_if(accents)?;
        let classes = if accents { Some(self.classes()?) } else { self.none()? };
        let marks = self.set_if(accents)?;
        let form = canonical.zip(classes).map(|(canonical, classes)| Form {
            canonical,
            compatible: None,
            classes,
            composed: None,
        });
        let lower = self.map_if(lower)?;
        Ok(Bert { clean: removed.zip(space), ideographs, accents: form.zip(marks), lower })
    }

    fn borders(&mut self) -> Result<ClusterSets> {
        Ok(ClusterSets {
            joined: self.set()?,
            prepend: self.set()?,
            control: self.set()?,
            pictographic: self.set()?,
            consonant: self.set()?,
            linker: self.set()?,
            middle: self.set()?,
        })
    }

    /// One of the pre-tokenizers.
    pub fn pre_tokenizer(&mut self, opcode: u16) -> Result<PreTokenizer<'a>> {
        let flags = match opcode {
            17 | 19 | 20 => 1,
            18 | 21 | 22 => 0,
            23 | 24 if self.gguf => 0,
            _ => return self.unknown(),
        };
        self.known(flags)?;
        let flag = self.flag(1);
        Ok(match opcode {
            17 => PreTokenizer::Split {
                pattern: self.pattern()?,
                behaviour: self.behaviour()?,
                invert: flag,
            },
            18 => PreTokenizer::Each {
                pattern: Pattern::Each(self.set()?),
                behaviour: self.behaviour()?,
            },
            19 => PreTokenizer::ByteLevel { space: flag, pattern: self.pattern_or_none()? },
            20 => PreTokenizer::Metaspace(self.metaspace(flag)?),
            21 => PreTokenizer::Fixed(self.count(1)?),
            22 => PreTokenizer::Scripts(self.runs()?),
            23 => PreTokenizer::Steps(self.steps()?),
            _ => PreTokenizer::Words(self.word_cuts()?),
        })
    }

    fn metaspace(&mut self, cuts: bool) -> Result<Metaspace> {
        let code = self.scalar()?;
        let scheme = self.choice(3)?;
        let mut text = Vec::new();
        push(&mut text, code);
        let pattern = Pattern::Literal(text.clone());
        let (always, first) = (scheme == 0, scheme == 1);
        let behaviour = Behaviour::MergedWithNext;
        Ok(Metaspace { code, text, always, first, cuts, pattern, behaviour })
    }

    fn word_cuts(&mut self) -> Result<WordCuts<'a>> {
        Ok(WordCuts {
            plain: self.letters_or_none()?,
            space: self.set()?,
            lost: self.set()?,
            apart: self.set()?,
            lower: self.letters_or_none()?,
        })
    }

    /// One of the post-processors.
    pub fn post_processor(&mut self, opcode: u16) -> Result<Post> {
        let flags = match opcode {
            33 => 1,
            34 => 0,
            _ => return self.unknown(),
        };
        self.known(flags)?;
        if opcode == 33 {
            return Ok(Post::Trim(self.flag(1), self.set()?));
        }
        let (first, count) = self.pieces()?;
        Ok(Post::Template(first, count))
    }

    /// One of the decoders.
    pub fn decoder(&mut self, opcode: u16) -> Result<Decoder<'a>> {
        let flags = match opcode {
            51 | 54 => 1,
            49..=57 => 0,
            58 if self.gguf => 3,
            59 if self.gguf => 0,
            _ => return self.unknown(),
        };
        self.known(flags)?;
        let flag = self.flag(1);
        Ok(match opcode {
            49 => Decoder::ByteLevel,
            50 => Decoder::ByteFallback,
            51 => Decoder::WordPiece(self.text()?, flag),
            52 => {
                let mut text = Vec::new();
                push(&mut text, self.scalar()?);
                Decoder::Metaspace(text, self.choice(3)? == 2)
            }
            53 => Decoder::Bpe(self.text()?),
            54 => Decoder::Ctc(self.text()?, self.text()?, flag),
            55 => Decoder::Replace(self.pattern()?, self.text()?),
            56 => Decoder::Fuse,
            57 => Decoder::Strip(self.scalar()?, self.count(0)?, self.count(0)?),
            58 => Decoder::Pieces { visible: flag, strip_first: self.flag(2) },
            _ => Decoder::Tidied,
        })
    }
}
