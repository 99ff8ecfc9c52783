// Whether the server answers, and asking it again and again.

/** Says at the top of the page whether the server answers. */
export function connection(state, text = state) {
  const place = document.getElementById("connection");
  if (place.textContent === text) return;
  place.dataset.state = state;
  place.textContent = text;
}

/** Calls a function again and again until the view is left. */
export function repeat(signal, pauseMs, task) {
  const again = async () => {
    if (signal.aborted) return;
    if (!document.hidden) {
      try {
        await task();
        connection("connected");
      } catch (error) {
        if (!signal.aborted) connection("lost", error.status ? error.message : "the server does not answer");
      }
    }
    if (!signal.aborted) setTimeout(again, pauseMs);
  };
  again();
}
