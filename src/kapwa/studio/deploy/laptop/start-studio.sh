#!/bin/sh
# Linux: start this file, or start-studio.desktop beside it. The first time it installs Kapwa, which takes some minutes.
cd "$(dirname "$0")" || exit 1
if [ ! -t 1 ] && [ -z "$KAPWA_WINDOW" ]; then # started without a window: open one, where what it says can be read
    export KAPWA_WINDOW=1
    # Of the last two, -e takes one word alone.
    for window in 'x-terminal-emulator -e' 'konsole -e' 'xterm -e' 'gnome-terminal --wait --' 'xfce4-terminal -x' 'mate-terminal -x'; do
        command -v "${window%% *}" > /dev/null && exec $window sh "./$(basename "$0")"
    done
fi
PATH="$HOME/.local/bin:$PATH"
fetch() { # with whichever of the two is here; many systems have wget alone
    if command -v curl > /dev/null; then curl -LsSf --max-time "$1" "$2"; else wget -q -T "$1" -O - "$2"; fi
}
if ! command -v kapwa > /dev/null; then
    until fetch 10 https://astral.sh/uv/install.sh > /dev/null; do
        echo 'There is no internet connection, which is needed to install Kapwa. Waiting; close this window to give up.'
        sleep 10
    done
    command -v uv > /dev/null || fetch 300 https://astral.sh/uv/install.sh | sh
    uv tool install --python 3.12 "kapwa[studio]" || { echo 'Kapwa could not be installed. Press Enter.'; read -r _; exit 1; }
fi
echo 'Keep this window open while people work. Close it to stop the studio; nothing is lost.'
echo 'Let the computer not go to sleep while people work, and do not close its lid.'
echo 'For a newer Kapwa, close this window, open a terminal, and type: uv tool upgrade kapwa'
kapwa studio serve --share --open || { echo 'The studio has stopped. Press Enter to close this window.'; read -r _; }
