// On the page for nobody: what whoever left was given to do goes from the device.
import { forget } from "./store.js";

forget(new URLSearchParams(location.search).get("left"));
