"""Neovim talks to the daemon with no plugin: its own channel, its own MessagePack-RPC."""

import json
import shutil
import subprocess

import pytest

NVIM = shutil.which("nvim")

SCRIPT = """
let channel = sockconnect('pipe', $SOCKET, {'rpc': v:true})
let answer = rpcrequest(channel, 'search', {'query': 'curlew', 'limit': 3})
let hit = answer.results[0]
let found = {'path': hit.path, 'line': hit.line_start, 'fresh': answer.fresh, 'count': len(answer.results)}
call writefile([json_encode(found)], $OUT)
qall!
"""


@pytest.mark.skipif(NVIM is None, reason="Neovim is not installed (.ci/packages installs it)")
def test_neovim_searches_with_no_plugin(daemon, tmp_path):
    daemon.write("birds/a.md", "# Waders\n\nThe curlew calls at dusk over the salt marsh, long before it is seen.\n")
    daemon.start()
    daemon.wait_fresh()
    script, out = tmp_path / "t.vim", tmp_path / "out.json"
    script.write_text(SCRIPT)

    subprocess.run(
        [str(NVIM), "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", str(script)],
        env={**daemon.env, "SOCKET": daemon.socket, "OUT": str(out)},
        timeout=30,
        check=True,
        capture_output=True,
    )

    assert json.loads(out.read_text()) == {"path": "birds/a.md", "line": 3, "fresh": True, "count": 1}
