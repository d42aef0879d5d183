import { childEnvironment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import { findProgram } from '#kit/find-program.ts';
import { runProgram } from '#kit/run-program.ts';
import { DeliveryFailed } from '#kit/webhooks/webhook.ts';
import type { Channel, ChannelParts } from '../channel.ts';
import { detail, headline, type Letter, letterTitle } from '../notice.ts';

/** Titles and texts are arguments of this script, never part of it. */
const appleScript = 'on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run';

/** What shows a notification here; null where nothing does. */
function showing(path: string): ((title: string, text: string) => readonly [string, string[]]) | null {
  const notifySend = findProgram('notify-send', path);
  if (notifySend !== null)
    return (title, text) => [notifySend, ['--app-name=Core', '--', title, markupText(text)]];
  const osascript = findProgram('osascript', path);
  if (osascript !== null) return (title, text) => [osascript, ['-e', appleScript, '--', title, text]];
  return null;
}

/** On the screen of whoever runs this; where nothing can show it, it is let go. */
export function desktopChannel({ path }: Pick<ChannelParts, 'path'>): Channel {
  return {
    place: 'the desktop',
    idle: showing(path) === null ? 'neither notify-send nor osascript is on PATH' : null,
    async send(letter, signal) {
      const show = showing(path);
      if (show === null) return;
      const [program, args] = show(letterTitle(letter), desktopText(letter));
      const env = Object.fromEntries(
        Object.entries(childEnvironment({ PATH: path })).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, value]],
        ),
      );
      try {
        const { exitCode, stderr } = await runProgram(program, args, { signal, env });
        if (exitCode !== 0) throw new DeliveryFailed(stderr.trim() || `${program} exited with ${exitCode}`);
      } catch (cause) {
        throw cause instanceof DeliveryFailed ? cause : new DeliveryFailed(messageOf(cause), { cause });
      }
    },
    close: async () => {},
  };
}

function desktopText({ notices }: Letter): string {
  return notices.length === 1 ? detail(notices[0]) : notices.map(headline).join('\n');
}

/** Source: https://specifications.freedesktop.org/notification-spec/latest/markup.html */
function markupText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
