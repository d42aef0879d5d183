import { withoutUrlSecrets } from '#kit/git/git-failure.ts';
import { cutText } from '#kit/redaction/cut-text.ts';

/** Refusal of a URL, for people. */
export interface RefusedUrl {
  readonly refused: string;
}

const segment = '(?!\\.{1,2}(?:/|$))[\\w.~][\\w.~-]*';
const path = `${segment}(?:/${segment})*/?`;
const host = '[A-Za-z0-9][A-Za-z0-9.-]*';
const user = '(?:[A-Za-z0-9_][\\w.-]*@)?';
/** Forms that name a repository of a server, and nothing that git could take for an option or a program. */
const absolute = [
  `(?:https?|git)://${host}(?::\\d{1,5})?/${path}`,
  `ssh://${user}${host}(?::\\d{1,5})?/${path}`,
  `${user}${host}:/?${path}`,
].map((form) => new RegExp(`^${form}$`));
/** A path of this machine, or its file URL, for a forge that is a folder. */
const local = /^(?:file:\/\/)?((?:\/(?!\.{1,2}(?:\/|$))[^/\p{Cc}\p{Cf}]+)+)\/?$/u;
const relative = new RegExp(`^((?:\\.{1,2}/)+)(${path})$`);

/**
 * The URL that a `.gitmodules` names, as git reads it. git never gets it from us: only what repository it names counts.
 * @param parent clone URL of the repository with the submodule, an https or http URL or an absolute path
 */
export function submoduleUrl(url: string, parent: string): { readonly url: string } | RefusedUrl {
  const plain = url.length <= 500 ? url : '';
  if (absolute.some((form) => form.test(plain))) return { url };
  const [, place] = parent.startsWith('/') ? (local.exec(plain) ?? []) : [];
  if (place !== undefined) return { url: place };
  const [, up, rest] = relative.exec(plain) ?? [];
  if (up === undefined || rest === undefined)
    return { refused: `its URL '${shown(url)}' is not a plain https, http, git, ssh or relative URL` };
  const [, origin = '', start = ''] = /^(https?:\/\/[^/]+)?(.*)$/s.exec(parent.replace(/\/+$/, ''))!;
  const folders = start.split('/');
  for (const part of up.split('/')) {
    if (part === '..') folders.pop();
    // The empty text before the first slash stays.
    if (folders.length === 0) return { refused: `its URL '${shown(url)}' leads out of the forge` };
  }
  return { url: `${origin}${[...folders, rest].join('/')}` };
}

function shown(url: string): string {
  const visible = withoutUrlSecrets(url).replace(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}');
  return cutText(visible, 100);
}
