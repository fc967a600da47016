"""Questions for learning confidence: some that the notes answer, made from their own text, and some that they do not.

Pure.  What always holds: the same text gives the same question, and a question never has the wording of its source: a
third of the words that carry meaning are missing, and all that do not.
"""

import re
from collections.abc import Sequence

from groove_daemon.retrieval.scripts import is_cjk
from groove_daemon.retrieval.words import keywords

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")
_FEWEST_WORDS, _MOST_WORDS = 5, 14
_FEWEST_CHARACTERS, _MOST_CHARACTERS = 10, 40
_ENOUGH = 0.5

OFF_TOPIC = (
    "how to bake sourdough bread without a mixer",
    "who won the football world cup in 1998",
    "exercises for a sprained ankle",
    "how long do giant tortoises live",
    "price of an ounce of gold yesterday",
    "night trains from Vienna to Venice",
    "why does my washing machine leak at the door",
    "vegetable lasagne recipe for six people",
    "symptoms of iron deficiency in runners",
    "how to patch a bicycle tyre on the road",
    "capital city of Mongolia",
    "when do cherry trees blossom in Kyoto",
    "difference between an alligator and a crocodile",
    "how to declare rental income on a tax return",
    "which white wine goes with grilled salmon",
    "offside rule in football explained",
    "how to knit a scarf for a beginner",
    "height of Mount Kilimanjaro",
    "fall of the Ottoman empire",
    "best age to neuter a kitten",
    "how to remove red wine stains from a carpet",
    "visa for a holiday in Vietnam",
    "when to prune rose bushes",
    "how many calories are in an avocado",
    "winners of the Eurovision song contest",
    "how to tune a violin by ear",
    "life cycle of a monarch butterfly",
    "what to pack for a newborn in hospital",
    "how does a heat pump keep a house warm",
    "opening moves of the Sicilian defence in chess",
    "how to tell a ripe mango",
    "treatment of hay fever in children",
    "the plot of Romeo and Juliet",
    "who painted the ceiling of the Sistine chapel",
    "how to fold a paper crane",
    "penalty for driving without insurance",
    "why do cats purr",
    "how deep is the Mariana trench",
    "wedding speech for the best man",
    "how to sharpen kitchen knives with a whetstone",
    "causes of the French revolution",
    "marathon training plan for sixteen weeks",
    "how to get rid of slugs in the lettuce",
    "mortgage rates for first time buyers",
    "which planets have rings",
    "how to ferment cabbage into sauerkraut",
    "tide times in Saint-Malo",
    "how much sleep does a toddler need",
    "rules for castling a king",
    "how to bleed a radiator",
    "Rezept für Apfelstrudel mit Rosinen",
    "wie lange muss ein Ei kochen",
    "horaires du musée du Louvre le mardi",
    "comment soigner une brûlure légère",
    "cómo plantar tomates en el balcón",
    "富士山の高さは何メートルですか",
    "美味しい味噌汁の作り方",
    "猫の平均寿命は何年ですか",
    "北京烤鸭怎么做",
    "如何治疗感冒",
)
"""About things that notes of work and study rarely hold; those that a corpus does hold are not asked of it."""


def question_from(content: str) -> str | None:
    """A question that `content` answers, made from its middle sentence that is long enough; None when none is.

    >>> question_from("Short. The ouzel builds its nest behind falling water near mountain streams every spring.")
    'ouzel builds behind falling near mountain every spring'
    """
    sentences = [found for sentence in _SENTENCE.split(content) if (found := _shortened(sentence))]
    return sentences[len(sentences) // 2] if sentences else None


def _shortened(sentence: str) -> str | None:
    if sum(map(is_cjk, sentence)) * 2 > len(sentence):
        return _part_of_unspaced(sentence)
    words = keywords(sentence)[:_MOST_WORDS]
    if len(words) < _FEWEST_WORDS:
        return None
    return " ".join(word for place, word in enumerate(words) if place % 3 != 2)


def _part_of_unspaced(sentence: str) -> str | None:
    """The first two thirds of a sentence without spaces: there are no words in it to be left out."""
    text = sentence.strip()[:_MOST_CHARACTERS]
    return text[: len(text) * 2 // 3] if len(text) >= _FEWEST_CHARACTERS else None


def is_answered(question: str, texts: Sequence[str]) -> bool:
    """Whether one of the texts, in lower case, holds half of the question's words, so that it may hold an answer.

    >>> is_answered("why do cats purr", ["cats purr when they are content"]), is_answered("why do cats purr", ["a cat"])
    (True, False)
    """
    words = keywords(question)
    needed = max(1.0, _ENOUGH * len(words))
    return any(sum(word in text for word in words) >= needed for text in texts)
