/**
 * Keeps what was found out for the turn of the event loop in which it was: calls that arrive together ask the file system once,
 * and each turn sees what others changed before it.
 */
export class ThisTurn<T> {
  #kept: { readonly turn: number; readonly value: T } | null = null;

  /** @param find asked where nothing is kept; what it throws is not kept */
  get(find: () => T): T {
    const turn = thisTurn();
    if (this.#kept?.turn === turn) return this.#kept.value;
    const value = find();
    this.#kept = { turn, value };
    return value;
  }
}

let turn = 0;
let ending = false;

/** One immediate ends the turn for all who keep something. */
function thisTurn(): number {
  if (!ending) {
    ending = true;
    setImmediate(() => {
      ending = false;
      turn++;
    });
  }
  return turn;
}
