"""Profiles of the user's own, from the configuration file to the answer."""

from support.daemon import DaemonProcess

PROFILES = """
[profiles.words]
limit = 1
[profiles.words.weights]
trigram = 1

[profiles.diary]
base = "memory"
min_score = 0
"""


def test_profile_of_ones_own_answers_and_a_reload_takes_changes(daemon: DaemonProcess) -> None:
    daemon.write("a.md", "# Heron\n\nThe grey heron stands in the reeds and waits for fish.\n")
    daemon.write("b.md", "# Reeds\n\nA heron nests where the reeds are old and dense.\n")
    plain = daemon.config_file.read_text()
    daemon.configure(PROFILES + plain)
    daemon.start()
    daemon.wait_fresh(vectors=True)

    answer = daemon.ctl_json("search", "heron", "--profile", "words", "--explain")
    diary = daemon.ctl_json("search", "heron", "--profile", "diary")
    daemon.configure(PROFILES.replace("limit = 1", "limit = 2") + plain)
    reloaded = daemon.ctl("reload")
    more = daemon.ctl_json("search", "heron", "--profile", "words")

    assert answer["profile"] == "words"
    assert len(answer["results"]) == 1
    assert [step["stage"] for step in answer["steps"]][:3] == ["sync", "trigram", "rrf"]
    assert diary["profile"] == "diary"
    assert len(diary["results"]) == 2
    assert "changed: profiles.words.limit" in reloaded.stdout
    assert len(more["results"]) == 2


def test_profile_is_shown_with_origins_and_an_unknown_one_names_the_nearest(daemon: DaemonProcess) -> None:
    daemon.configure(PROFILES + daemon.config_file.read_text())
    checked = daemon.grooved("check-config")
    daemon.start()
    values = {row["key"]: row for row in daemon.ctl_json("config")["values"]}
    unknown = daemon.ctl("search", "heron", "--profile", "dairy")
    lacking = daemon.ctl("search", "heron", "--profile", "words", "--min-score", "0.5")

    assert "profiles.diary.min_score" in checked.stdout
    assert values["profiles.words.limit"]["origin"] == f"file {daemon.config_file}"
    assert values["profiles.words.min_quality"]["origin"] == "search.min_quality"
    assert "there is no profile 'dairy'" in unknown.stderr
    assert "'diary'" in unknown.stderr
    assert "the profile 'words' has no such stage" in lacking.stderr


def test_impossible_profile_keeps_the_daemon_from_starting_with_the_reason(daemon: DaemonProcess) -> None:
    daemon.configure("[profiles.x]\nmin_score = 0.5\n" + daemon.config_file.read_text())

    checked = daemon.grooved("check-config")

    assert checked.returncode != 0
    assert "profiles.x.min_score: cannot be set" in checked.stdout + checked.stderr
