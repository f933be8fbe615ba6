#!/bin/sh
# macOS and Linux: double-click this file. The first time it installs Kapwa, which takes some minutes, and asks for a name.
cd "$(dirname "$0")" || exit 1
PATH="$HOME/.local/bin:$PATH"
if ! command -v kapwa > /dev/null; then
    command -v uv > /dev/null || curl -LsSf https://astral.sh/uv/install.sh | sh
    uv tool install --python 3.12 "kapwa[studio]" || exit 1
fi
if [ ! -f kapwa-studio/begun ]; then
    printf 'A short name for your project, in small letters, such as my-culture: '
    read -r name
    printf 'What it makes: kalahi (situations), blend (everyday questions) or eecc (prompts): '
    read -r form
    printf 'The language that people write in, such as fil, ar or am: '
    read -r language
    kapwa studio new "$name" --form "$form" --language "$language" || exit 1
    touch kapwa-studio/begun
    printf 'Write down the code above, then press Enter. '
    read -r _
fi
echo 'Keep this window open while people work. Close it to stop the studio; nothing is lost.'
exec kapwa studio serve --share
