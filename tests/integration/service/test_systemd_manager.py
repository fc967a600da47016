"""The service under a real manager: what the units promise is what happens."""

import stat

from support.service import Installation


def test_install_starts_the_service_and_says_what_it_did(installation: Installation) -> None:
    report = installation.install()
    state = installation.status()

    assert report.is_done, report
    assert report.lines[2] == "enabled and started groove.socket and groove.service; both start at login"
    assert report.lines[3].startswith("lingering is off: it stops at logout")
    assert (state.state, state.text, state.is_enabled, state.at_boot) == ("running", "serving", True, False)
    assert state.pid is not None
    assert (installation.units / "default.target.wants" / "groove.service").is_symlink()
    assert (installation.units / "sockets.target.wants" / "groove.socket").is_symlink()


def test_socket_is_for_the_user_alone(installation: Installation) -> None:
    installation.install()
    modes = installation.manager.run(
        ["stat", "--format=%a", str(installation.socket), str(installation.socket.parent)]
    ).output.split()

    assert modes == ["600", "700"]
    assert installation.ask("hello").isdigit()


def test_restrictions_are_in_force(installation: Installation) -> None:
    """An ordinary user's manager must be able to apply all of them."""
    installation.install()
    given = installation.given()
    status = dict(line.split(":\t", 1) for line in given["status"].splitlines() if ":\t" in line)

    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert (given["umask"], given["nice"], given["oom"], given["folder"]) == (0o077, 5, 300, "/")


def test_command_and_environment_arrive_as_they_were_given(root_installation: Installation) -> None:
    odd = [
        "My Notes",
        "100%",
        "%n %%",
        "$HOME",
        "${HOME} $$",
        'a "quote"',
        "it's",
        "back\\slash\\",
        "",
        ";",
        "ünï",
        "#",
    ]
    values = {"XDG_DATA_HOME": '/tmp/My $HOME 50% "x" \\', "EMPTY": ""}

    report = root_installation.install(*odd, environment=values)
    given = root_installation.given()

    assert report.is_done, report
    assert given["arguments"][1:] == [str(root_installation.state), *odd]
    assert values.items() <= given["environment"].items()


def test_program_may_lie_under_any_path(root_installation: Installation) -> None:
    folder = root_installation.state / "bin 50% $x $$ \"q\" 'p' \\"
    folder.mkdir()
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec {root_installation.interpreter} "$@"\n')
    program.chmod(0o755)
    moved = Installation(root_installation.manager, root_installation.state, str(program))

    report = moved.install()

    assert report.is_done, report
    assert moved.status().state == "running"


def test_client_that_connects_after_a_crash_is_answered_by_the_next_process(installation: Installation) -> None:
    installation.install()
    first = installation.ask("hello")
    installation.ask("crash")
    second = installation.ask("hello")

    assert second.isdigit()
    assert second != first


def test_crash_is_restarted_without_a_client(root_installation: Installation) -> None:
    root_installation.drop_in("[Service]\nRestartSec=20ms\n")
    root_installation.install()
    root_installation.ask("crash")
    state = root_installation.eventually(lambda state: state.state == "running" and state.restarts > 0)

    assert state.restarts == 1
    assert root_installation.starts() == 2


def test_hang_is_restarted(root_installation: Installation) -> None:
    root_installation.drop_in("[Service]\nRestartSec=20ms\nWatchdogSec=300ms\n")
    root_installation.install()
    pid = root_installation.status().pid
    root_installation.ask("hang")
    state = root_installation.eventually(lambda state: state.state == "running" and state.pid != pid)

    assert state.restarts == 1


def test_crash_loop_ends_after_a_stated_number_of_starts(root_installation: Installation) -> None:
    root_installation.behave("crash")
    root_installation.drop_in("[Service]\nRestartSec=0\n")
    report = root_installation.install()
    state = root_installation.eventually(lambda state: state.state == "failed")

    assert not report.is_done
    assert root_installation.starts() == 12
    assert any("reset-failed groove.socket groove.service" in hint for hint in state.hints)


def test_wrong_configuration_is_not_started_again(root_installation: Installation) -> None:
    root_installation.behave("config-error")
    root_installation.drop_in("[Service]\nRestartSec=0\n")
    report = root_installation.install()
    state = root_installation.eventually(lambda state: state.state == "failed")

    assert not report.is_done
    assert any("collections[0].path: is missing" in line for line in report.lines)
    assert root_installation.starts() == 1
    assert (state.reason, state.restarts) == ("exit status 2", 0)
    assert "the configuration is wrong: grooved check-config says where" in state.hints


def test_clients_cannot_start_a_broken_daemon_without_end(root_installation: Installation) -> None:
    root_installation.behave("config-error")
    root_installation.install()
    for _ in range(20):
        root_installation.ask("hello")
    root_installation.eventually(lambda state: state.state == "failed")
    log = root_installation.manager.journal("groove")

    assert root_installation.starts() == 12
    assert log.count("is missing") == 12


def test_install_repairs_a_service_that_gave_up(root_installation: Installation) -> None:
    root_installation.behave("crash")
    root_installation.drop_in("[Service]\nRestartSec=0\n")
    root_installation.install()
    root_installation.eventually(lambda state: state.state == "failed")
    root_installation.behave("serve")
    report = root_installation.install()

    assert report.is_done, report
    assert root_installation.ask("hello").isdigit()


def test_install_again_runs_what_was_just_written(root_installation: Installation) -> None:
    root_installation.install("old")
    report = root_installation.install("new")

    assert report.is_done
    assert root_installation.given()["arguments"][-1] == "new"
    assert root_installation.status().restarts == 0


def test_install_without_enable_starts_nothing(root_installation: Installation) -> None:
    report = root_installation.install(enable=False)
    state = root_installation.status()

    assert report.is_done
    assert (state.state, state.is_enabled, root_installation.starts()) == ("stopped", False, 0)
    assert not (root_installation.units / "default.target.wants").exists()


def test_first_client_starts_a_service_that_only_listens(root_installation: Installation) -> None:
    root_installation.install(enable=False)
    root_installation.manager.run(["systemctl", "--user", "start", "groove.socket"])
    waiting = root_installation.status()
    answer = root_installation.ask("hello")

    assert waiting.state == "waiting"
    assert answer.isdigit()


def test_uninstall_leaves_nothing_but_the_users_own_changes(root_installation: Installation) -> None:
    root_installation.drop_in("[Service]\nRestartSec=20ms\n")
    root_installation.install()
    report = root_installation.systemd.uninstall("default")
    left = sorted(str(path.relative_to(root_installation.units)) for path in root_installation.units.rglob("*.*"))
    there = root_installation.manager.run(["test", "-e", str(root_installation.socket)])

    assert report.is_done, report
    assert f"left your own changes in {root_installation.units}/groove.service.d" in report.lines
    assert not [path for path in left if stat.S_ISLNK((root_installation.units / path).lstat().st_mode)]
    assert root_installation.status().state == "not installed"
    assert there.code == 1


def test_uninstall_of_nothing_is_no_error(root_installation: Installation) -> None:
    report = root_installation.systemd.uninstall("other")

    assert report.is_done
    assert report.lines == ("there is no service groove-other.service of this program",)
