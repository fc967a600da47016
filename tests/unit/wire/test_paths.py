"""Daemon and client find each other, whatever environment each of them has."""

import os

import pytest

from groove_wire import paths

UID = os.getuid()


def folders(*existing):
    return lambda folder: folder in existing


def linux(env, *existing, instance="default"):
    return paths.socket_path(instance, env, platform="linux", is_folder=folders(*existing))


def test_socket_lies_in_the_runtime_folder():
    assert linux({"XDG_RUNTIME_DIR": "/run/x"}, "/run/x") == "/run/x/groove/default.sock"


def test_socket_has_the_name_of_the_instance():
    assert linux({"XDG_RUNTIME_DIR": "/run/x"}, "/run/x", instance="work") == "/run/x/groove/work.sock"


def test_socket_is_the_same_with_and_without_the_session_variable():
    runtime = f"/run/user/{UID}"

    assert linux({"XDG_RUNTIME_DIR": runtime}, runtime) == linux({}, runtime)


@pytest.mark.parametrize("value", ["", "relative/folder", "/absent"])
def test_runtime_variable_is_ignored_when_it_cannot_be_used(value):
    assert linux({"XDG_RUNTIME_DIR": value}) == f"/tmp/groove-{UID}/default.sock"


def test_fallback_does_not_depend_on_tmpdir():
    assert linux({"TMPDIR": "/somewhere"}, "/somewhere") == f"/tmp/groove-{UID}/default.sock"


def test_chosen_socket_wins_over_everything():
    env = {"GROOVE_SOCKET": "/x/y.sock", "XDG_RUNTIME_DIR": "/run/x"}

    assert paths.socket_candidates("default", env, platform="linux", is_folder=folders("/run/x")) == ("/x/y.sock",)


def test_candidates_are_all_places_best_first():
    runtime = f"/run/user/{UID}"
    env = {"XDG_RUNTIME_DIR": "/run/x"}

    assert paths.socket_candidates("a", env, platform="linux", is_folder=folders("/run/x", runtime)) == (
        "/run/x/groove/a.sock",
        f"{runtime}/groove/a.sock",
        f"/tmp/groove-{UID}/a.sock",
    )


def test_candidates_name_no_place_twice():
    runtime = f"/run/user/{UID}"
    found = paths.socket_candidates("a", {"XDG_RUNTIME_DIR": runtime}, platform="linux", is_folder=folders(runtime))

    assert found == (f"{runtime}/groove/a.sock", f"/tmp/groove-{UID}/a.sock")


@pytest.mark.parametrize(("platform", "limit"), [("linux", 107), ("darwin", 103)])
def test_socket_path_is_kept_up_to_the_limit_of_the_platform(platform, limit):
    longest = "/" + "x" * (limit - 1)

    assert paths.fit_socket_path(longest, platform=platform) == longest
    assert paths.fit_socket_path(longest + "x", platform=platform) != longest + "x"


def test_long_socket_path_becomes_the_same_short_one_each_time():
    long = "/home/" + "x" * 150 + "/default.sock"
    short = paths.fit_socket_path(long, platform="linux")

    assert short == paths.fit_socket_path(long, platform="linux")
    assert short.startswith(f"/tmp/groove-{UID}/")
    assert len(short.encode()) <= 103
    assert short != paths.fit_socket_path(long + "x", platform="linux")


def test_limit_counts_bytes_and_not_characters():
    path = "/" + "ü" * 60

    assert paths.fit_socket_path(path, platform="linux") != path


@pytest.mark.parametrize("name", ["default", "a", "Work_2-b", "x" * 64])
def test_instance_name_is_taken(name):
    assert paths.check_instance(name) == name


@pytest.mark.parametrize("name", ["", "a/b", "..", ".", "a b", "é", "x" * 65, "a.b", "a\n"])
def test_instance_name_is_refused_when_it_is_no_plain_name(name):
    with pytest.raises(ValueError, match="instance"):
        paths.socket_path(name, {}, platform="linux", is_folder=folders())


def test_folders_follow_the_variables():
    env = {
        "HOME": "/h",
        "XDG_CONFIG_HOME": "/c",
        "XDG_DATA_HOME": "/d",
        "XDG_STATE_HOME": "/s",
        "XDG_CACHE_HOME": "/k",
    }

    assert paths.config_file(env, platform="linux") == "/c/groove/config.toml"
    assert paths.data_dir("work", env, platform="linux") == "/d/groove/work"
    assert paths.state_dir("work", env, platform="linux") == "/s/groove/work"
    assert paths.cache_dir(env, platform="linux") == "/k/groove"


def test_folders_lie_in_the_home_without_usable_variables():
    env = {"HOME": "/h", "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "relative"}

    assert paths.config_file(env, platform="linux") == "/h/.config/groove/config.toml"
    assert paths.data_dir(env=env, platform="linux") == "/h/.local/share/groove/default"
    assert paths.state_dir(env=env, platform="linux") == "/h/.local/state/groove/default"
    assert paths.cache_dir(env, platform="linux") == "/h/.cache/groove"


def test_folders_lie_in_the_library_on_macos():
    env = {"HOME": "/Users/me"}

    assert paths.config_file(env, platform="darwin") == "/Users/me/Library/Application Support/groove/config.toml"
    assert paths.data_dir(env=env, platform="darwin") == "/Users/me/Library/Application Support/groove/default"
    assert paths.state_dir(env=env, platform="darwin") == "/Users/me/Library/Logs/groove/default"
    assert paths.cache_dir(env, platform="darwin") == "/Users/me/Library/Caches/groove"


def test_home_comes_from_the_user_database_when_the_variable_is_missing():
    assert os.path.isabs(paths.data_dir(env={}, platform="linux"))


def test_folder_is_private_when_it_is_ours_and_closed(tmp_path):
    folder = tmp_path / "groove"
    folder.mkdir(mode=0o700)
    folder.chmod(0o700)

    assert paths.why_not_private(str(folder)) is None


def test_folder_is_not_private_when_others_may_enter(tmp_path):
    folder = tmp_path / "groove"
    folder.mkdir()
    folder.chmod(0o755)

    assert paths.why_not_private(str(folder)) == "is open to other users (mode 0755)"


def test_folder_is_not_private_when_it_is_a_link(tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert paths.why_not_private(str(tmp_path / "link")) == "is not a folder"


def test_folder_is_not_private_when_it_is_somebody_elses(tmp_path):
    assert paths.why_not_private(str(tmp_path), uid=UID + 1) == f"belongs to user {UID}"
