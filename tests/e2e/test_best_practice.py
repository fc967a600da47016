"""Notes that say how something is to be done, by the command."""

from support.daemon import DaemonProcess

NOTE = "# Rust\n\n## Errors\n\nUse an enum.\n\n## Tests\n\nWrite them.\n"


def test_note_and_section_are_printed_and_unset_templates_are_told(daemon: DaemonProcess) -> None:
    daemon.write("practices/rust.md", NOTE)
    plain = daemon.config_file.read_text()
    daemon.start()
    daemon.wait_fresh()

    unset = daemon.ctl("best-practice", "rust")
    daemon.configure('[best_practice]\ntemplates = ["none/{target}.md", "practices/{target}.md"]\n' + plain)
    reloaded = daemon.ctl("reload")
    whole = daemon.ctl("best-practice", "rust")
    section = daemon.ctl("best-practice", "rust", "--category", "tests")
    absent = daemon.ctl("best-practice", "go")
    with daemon.client() as client:
        sections = client.get_best_practice("rust").sections

    assert unset.returncode == 2
    assert "best_practice.templates" in unset.stderr
    assert "best_practice.templates" in reloaded.stdout
    assert whole.stdout == NOTE
    assert section.stdout == "## Tests\n\nWrite them.\n"
    assert absent.returncode != 0
    assert "practices" not in absent.stderr
    assert sections == ("Errors", "Tests")
