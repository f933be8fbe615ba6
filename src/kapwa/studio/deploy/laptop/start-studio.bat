@echo off
rem Windows: double-click this file. The first time it installs Kapwa, which takes some minutes, and asks for a name.
cd /d "%~dp0"
set "PATH=%USERPROFILE%\.local\bin;%PATH%"
where kapwa >nul 2>nul && goto installed
where uv >nul 2>nul || powershell -ExecutionPolicy ByPass -Command "irm https://astral.sh/uv/install.ps1 | iex"
uv tool install --python 3.12 "kapwa[studio]" || goto failed
:installed
if exist kapwa-studio\begun goto begun
set /p name="A short name for your project, in small letters, such as my-culture: "
set /p form="What it makes: kalahi (situations), blend (everyday questions) or eecc (prompts): "
set /p language="The language that people write in, such as fil, ar or am: "
kapwa studio new "%name%" --form "%form%" --language "%language%" || goto failed
type nul > kapwa-studio\begun
echo Write down the code above.
pause
:begun
echo Keep this window open while people work. Close it to stop the studio; nothing is lost.
kapwa studio serve --share
:failed
pause
