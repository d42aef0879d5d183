import type { ReadStream, WriteStream } from 'node:tty';
import { createHighlighter } from '#kit/diff/highlight.ts';
import { Connection, type ConnectionOptions } from './client/connection.ts';
import { openInEditor } from './client/editor.ts';
import { EffectRunner } from './client/effect-runner.ts';
import { signHere } from './client/sign-here.ts';
import { decides } from './input/dialog-input.ts';
import { Dwell } from './input/dwell.ts';
import { update } from './input/update.ts';
import { createPanes } from './layout/pane-content.ts';
import { type Device, openDevice } from './screen/device.ts';
import type { Glyphs } from './screen/glyphs.ts';
import type { Background, Read } from './screen/keys.ts';
import { createPaint, createScreenWriter, type Theme } from './screen/writer.ts';
import type { Message } from './state/messages.ts';
import { initialState, type State } from './state/state.ts';
import { frameOf } from './view/frame.ts';

export interface ShellOptions extends Omit<ConnectionOptions, 'dispatch'> {
  readonly stdin: ReadStream;
  readonly stdout: WriteStream;
  readonly glyphs: Glyphs;
  readonly color: boolean;
  /** null: chosen by the background that the terminal reports; dark if it reports none. */
  readonly theme: Theme | null;
  readonly home: string | undefined;
  /** Name of the token that decides. */
  readonly approver: () => string;
  /** Offered as the place to deliver to. */
  readonly here: string | null;
  /** Which repository `here` is of. */
  readonly hereRepository: State['hereRepository'];
  /** Opened at once. */
  readonly run: string | null;
}

/** News comes in bursts; a frame, in milliseconds, is enough for each. Keys are answered at once. */
const frameMs = 33;

/** Runs the interface on a terminal until the person quits or the terminal is gone. */
export async function runShell(options: ShellOptions): Promise<void> {
  const { glyphs, program } = options;
  const highlighter = createHighlighter(() => dispatch({ kind: 'redraw' }));
  const panes = createPanes(glyphs, highlighter);
  const looks = { glyphs, panes, program };
  let ended = false;
  let end = () => {};
  const done = new Promise<void>((resolve) => {
    end = () => {
      ended = true;
      resolve();
    };
  });
  let timer: NodeJS.Timeout | undefined;
  const paintFor = (theme: Theme) => createPaint({ color: options.color, theme });

  const device: Device = openDevice(
    options.stdin,
    options.stdout,
    {
      input: (inputs) => obey(inputs),
      resized: () => dispatch({ kind: 'resized', size: device.size() }),
      lost: () => end(),
    },
    options.color && options.theme === null,
  );
  const writer = createScreenWriter({
    write: device.write,
    paint: paintFor(options.theme ?? 'dark'),
    ellipsis: glyphs.ellipsis,
  });
  const connection = new Connection({ ...options, dispatch: (message) => dispatch(message) });
  const runner = new EffectRunner({
    connection,
    dispatch: (message) => dispatch(message),
    home: options.home,
    quit: () => end(),
    repaint: () => writer.forget(),
    copy: (text) => device.write(copying(text)),
    async edit(text, line) {
      await device.lend(() => openInEditor(text, line));
      writer.forget();
      draw();
    },
    async sign(runId, actions) {
      const { approver, home, stdout } = options;
      const count = actions.length === 1 ? 'one approval' : `${actions.length} approvals`;
      try {
        return await device.lend(() => {
          stdout.write(`Signing ${count} with your SSH key; ctrl-c stops.\n`);
          return signHere({ runId, actions, approver: approver(), home });
        });
      } finally {
        writer.forget();
        draw();
      }
    },
  });
  const dwell = new Dwell((shown) => dispatch({ kind: 'drawn', shown }));
  let state: State = initialState(device.size(), Date.now(), options.here, options.hereRepository);

  function dispatch(message: Message): void {
    if (ended) return;
    const step = update(state, message, panes);
    state = step.state;
    for (const effect of step.effects) runner.perform(effect);
    if (message.kind === 'input' || message.kind === 'resized') draw();
    else timer ??= setTimeout(draw, frameMs);
  }

  /** Keys typed before a question was on the screen do not answer it. */
  function obey(inputs: readonly Read[]): void {
    for (const input of inputs) {
      if (input.kind === 'background') {
        writer.repaint(paintFor(themeOf(input)));
        dispatch({ kind: 'redraw' });
        continue;
      }
      const before = state.dialog;
      dispatch({ kind: 'input', input });
      if (before !== state.dialog && decides(state.dialog) && !decides(before)) return;
    }
  }

  function draw(): void {
    clearTimeout(timer);
    timer = undefined;
    if (ended) return;
    const frame = frameOf(state, looks);
    writer.draw(frame.rows, state.size, frame.cursor);
    dwell.drawn(frame.shown);
  }

  const clock = setInterval(() => dispatch({ kind: 'tick', now: Date.now() }), 1_000);
  try {
    draw();
    void connection.followList();
    if (options.run !== null) dispatch({ kind: 'planned', run_id: options.run });
    await done;
  } finally {
    clearInterval(clock);
    clearTimeout(timer);
    dwell.stop();
    device.close();
    runner.close();
    await connection.close();
  }
}

/** By how bright its background looks. */
export function themeOf({ red, green, blue }: Background): Theme {
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 ? 'light' : 'dark';
}

/** OSC 52: the terminal puts the text on the clipboard of the machine that it runs on. */
function copying(text: string): string {
  return `\x1b]52;c;${Buffer.from(text).toString('base64')}\x07`;
}
