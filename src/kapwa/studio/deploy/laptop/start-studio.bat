@echo off
rem Windows: double-click this file. The first time it installs Kapwa, which takes some minutes.
rem Opened inside a ZIP, it runs in a folder that Windows empties: what people write would be lost.
echo "%~dp0" | find /i "\AppData\Local\Temp" >nul && goto inzip
cd /d "%~dp0" || goto failed
set "PATH=%USERPROFILE%\.local\bin;%PATH%"
where kapwa >nul 2>nul && goto installed
:network
curl -s --head --max-time 10 https://astral.sh >nul && goto online
echo There is no internet connection, which is needed to install Kapwa. Waiting; close this window to give up.
rem No "timeout": it fails where the window has no keyboard.
ping -n 11 127.0.0.1 >nul
goto network
:online
where uv >nul 2>nul || powershell -NoProfile -ExecutionPolicy ByPass -Command "irm https://astral.sh/uv/install.ps1 | iex"
uv tool install --python 3.12 "kapwa[studio]" || goto failed
:installed
echo Keep this window open while people work. Close it to stop the studio; nothing is lost.
echo Do not click into this window: a click pauses the studio. If its title begins with "Select", press Esc.
echo Let the computer not go to sleep while people work: Settings, System, Power.
echo For a newer Kapwa, close this window, open PowerShell, and type: uv tool upgrade kapwa
kapwa studio serve --share --open
goto failed
:inzip
echo Copy this file out of the ZIP into a folder of its own, and double-click it there.
:failed
pause
