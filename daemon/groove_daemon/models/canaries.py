"""Texts on which an exported model is compared with its original.

They look like what a library of notes holds: titles, questions, sentences, lists, code, a few other scripts, and some
paragraphs as long as a chunk.  Neighbours in the list share a subject, so that a ranking over all of them means
something.  Editing the list changes no vector; it only asks exported models to be verified again.
"""

_GARDEN = (
    "Tomatoes",
    "When should I prune the apple tree?",
    "Prune the apple tree in late winter, before the buds swell, and cut just above an outward-facing bud.",
    "Compost needs about two parts of dry brown material for one part of green kitchen waste.",
    "- sow peas under fleece\n- divide the rhubarb\n- sharpen the hoe",
    "The slugs came back after the rain. I put the seedlings on the high shelf, set a saucer of beer beside the "
    "lettuce and laid a ring of coarse sand around each courgette. Two days later the lettuce was untouched, the "
    "courgettes had lost a leaf each and the saucer was full. The sand has to be renewed after every shower, the beer "
    "every second evening. Copper tape around the pots is said to work as well, but it costs more than the plants do, "
    "and the blackbirds take what the saucer misses if nobody covers the beds in the morning.",
    "Frost is expected on Thursday night; bring the lemon tree inside.",
    "Watering in the morning keeps the leaves dry overnight and mildew away.",
)

_KITCHEN = (
    "Sourdough starter",
    "How long does pizza dough rest in the fridge?",
    "Feed the starter with equal weights of flour and water and leave it at room temperature for eight hours.",
    "500 g flour, 350 g water, 10 g salt, 2 g yeast; fold three times, prove overnight, bake at 240 degrees.",
    "Grandmother's lentil soup wants a splash of vinegar at the very end.",
    "Risotto: toast the rice in butter until the edges turn clear, add a glass of white wine, then hot stock one ladle "
    "at a time, stirring, for about eighteen minutes. Take it off the heat while it still moves like a slow wave, beat "
    "in cold butter and grated cheese, cover it for two minutes and serve it at once on warm plates. Leftovers become "
    "little fried cakes the next day, with a piece of mozzarella in the middle and breadcrumbs around them.",
    "Knives: hone weekly, sharpen on the 1000 stone twice a year.",
    "The oven runs twenty degrees too hot on the left side.",
)

_COMPUTING = (
    "Restoring a backup",
    "How do I rebase a branch without losing my commits?",
    "git rebase replays your commits on top of another branch; git reflog finds them again when it goes wrong.",
    "def mean(values: list[float]) -> float:\n"
    "    if not values:\n        return 0.0\n    return sum(values) / len(values)",
    "SELECT name, count(*) FROM visits GROUP BY name HAVING count(*) > 3 ORDER BY 2 DESC;",
    "The nightly job failed with exit status 137, which means that the kernel killed it for lack of memory. The worker "
    "reads the whole table into a list before it writes the first line. Reading in pages of a thousand rows keeps it "
    "under two hundred megabytes and takes no longer, since the disk is the bottleneck anyway. While I was there I "
    "moved the temporary file to the same volume as the target, so that the last rename is atomic, and made the "
    "job log how many rows it wrote. The alert now fires when that number falls by more than a tenth.",
    'export PATH="$HOME/.local/bin:$PATH"',
    "TLS certificates are renewed by a timer sixty days before they run out.",
)

_TRAVEL = (
    "Packing list for the Alps",
    "Which train goes from Zurich to Milan without a change?",
    "The night train leaves Vienna at 21:27 and reaches Venice shortly after eight in the morning.",
    "Hut to hut in four days: 62 km, 4,800 m of ascent, the third day is the long one.",
    "passport, rail card, adapter, head torch, blister plasters, paper map",
    "We crossed the pass in fog and saw nothing until the lake appeared below us, green and completely still. The hut "
    "had no running water but plenty of soup, and the warden told us that the bridge on the lower path had been washed "
    "away in June. So we took the ridge instead, slowly, with snow on the north side, and came down through larches "
    "to a village where the only bus of the afternoon had left four minutes before. A farmer drove us to the station "
    "in a van that smelled of hay.",
    "The ferry to the islands is cancelled when the wind is above force eight.",
    "Book the hostel in Ljubljana before the end of March.",
)

_WORK = (
    "Minutes, 14 May",
    "Who decided to postpone the launch, and why?",
    "We postponed the launch by two weeks because the payment provider had not finished its review.",
    "Action items: Mira writes the announcement, Tom checks the invoices, I call the landlord.",
    "Quarterly revenue grew by 12 % to 4.3 million euros, mostly from renewals.",
    "The interview with the second candidate went well. She asked what had happened to the last person in the role, "
    "which nobody else did, and listened to the answer. Her sample project was small and finished, with tests, and she "
    "explained without being asked why she had left out the cache. Doubts: she has never run anything at night with a "
    "pager, and she wants to stay in Lisbon. I would offer her the job and pair her with Jonas for the first three "
    "months; the team can live with one hour of difference in time zones.",
    "Holidays must be entered before the tenth of the month.",
    "The new contract has a notice period of three months for both sides.",
)

_HEALTH = (
    "Knee exercises",
    "What did the doctor say about the blood pressure pills?",
    "Take the tablets in the morning with food and measure the pressure before breakfast for two weeks.",
    "Slept badly, 5 h 40 min, woke at four; no coffee after noon tomorrow.",
    "Vaccinations: tetanus 2019, tick-borne encephalitis 2021, next booster 2026.",
    "Running again after the injury: ten minutes on grass every other day in the first week, then five minutes more "
    "each week as long as the knee is quiet the morning after. Stairs downwards are the honest test. The "
    "physiotherapist wants single-leg squats to a chair, calf raises on a step, and the boring one with the rubber "
    "band, three times twelve of each. Swimming is fine, but no breaststroke kick before August, and no sudden "
    "turns on the court.",
    "Allergic to penicillin.",
    "The dentist moved to the second floor of the same building.",
)

_IDEAS = (
    "On forgetting",
    "Is memory a record or a reconstruction?",
    "We do not remember an event, we remember the last time that we told it.",
    '"The map is not the territory" - but a good map tells you where it stops being right.',
    "Entropy measures how many ways the parts can be arranged without anybody noticing the difference.",
    "A library that keeps everything is as useless as one that keeps nothing, unless it can be asked. The catalogue is "
    "therefore not an aid to the collection but the collection's other half. What struck me in the essay is the claim "
    "that every classification is a bet on future questions: the shelf order says what its makers expected to be "
    "asked, and becomes an obstacle as soon as people ask something else. Perhaps that is why the margins matter so "
    "much; they are the only place where a reader of today can leave a sign for a question that is not asked yet.",
    "Chess openings teach habit, endgames teach thought.",
    "Light from the nearest star is four years old when it arrives.",
)

_OTHER_LANGUAGES = (
    "Der Schlüssel hängt hinter dem Heizkessel im Keller.",
    "Wann muss die Steuererklärung abgegeben werden?",
    "La réunion est reportée au mardi suivant, à quatorze heures.",
    "El tren de las ocho siempre llega tarde los lunes.",
    "会議は来週の火曜日に延期されました。",
    "りんごの木は冬の終わりに剪定する。",
    "Рецепт бабушкиного супа с чечевицей и уксусом.",
    "番茄种子在三月播种，五月移到室外。",
)

CANARIES: tuple[str, ...] = (
    *_GARDEN, *_KITCHEN, *_COMPUTING, *_TRAVEL, *_WORK, *_HEALTH, *_IDEAS, *_OTHER_LANGUAGES,
)  # fmt: skip
