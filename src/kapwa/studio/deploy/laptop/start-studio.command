#!/bin/sh
# macOS and Linux: double-click this file. The first time it installs Kapwa, which takes some minutes.
cd "$(dirname "$0")" || exit 1
PATH="$HOME/.local/bin:$PATH"
if ! command -v kapwa > /dev/null; then
    command -v uv > /dev/null || curl -LsSf https://astral.sh/uv/install.sh | sh
    uv tool install --python 3.12 "kapwa[studio]" || exit 1
fi
echo 'Keep this window open while people work. Close it to stop the studio; nothing is lost.'
exec kapwa studio serve --share --open
