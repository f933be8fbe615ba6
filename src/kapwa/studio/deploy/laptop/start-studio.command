#!/bin/sh
# macOS: double-click this file. The first time it installs Kapwa, which takes some minutes.
# It was downloaded and does not open? See docs/how-to/start-without-python.md.
cd "$(dirname "$0")" || exit 1
PATH="$HOME/.local/bin:$PATH"
if ! command -v kapwa > /dev/null; then
    until curl -s --head --max-time 10 https://astral.sh > /dev/null; do
        echo 'There is no internet connection, which is needed to install Kapwa. Waiting; close this window to give up.'
        sleep 10
    done
    command -v uv > /dev/null || curl -LsSf https://astral.sh/uv/install.sh | sh
    uv tool install --python 3.12 "kapwa[studio]" || exit 1
fi
echo 'Keep this window open while people work. Close it to stop the studio; nothing is lost.'
echo 'For a newer Kapwa, close this window, open the program Terminal, and type: uv tool upgrade kapwa'
# Without this the computer goes to sleep when nobody types on it, and phones find no studio; closing its lid still does.
awake=$(command -v caffeinate) && awake="$awake -i"
exec $awake kapwa studio serve --share --open
