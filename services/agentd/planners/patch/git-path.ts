/** Names of files as git and GNU diff write them in the headers of a patch. */

const escapes: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  '\\': 92,
};

/** Reads one name at the start of `text`: quoted as in C, else up to a tab or the end. null where it is malformed. */
export function readName(text: string): { name: string; rest: string } | null {
  if (!text.startsWith('"')) {
    const tab = text.indexOf('\t');
    const plain = tab < 0 ? text : text.slice(0, tab);
    // Some tools separate a date by spaces.
    const name = plain.replace(/ +\d{4}-\d\d-\d\d[ T]\d\d:\d\d\S*( [+-]\d{4})?$/, '');
    return name === '' ? null : { name, rest: tab < 0 ? '' : text.slice(tab) };
  }
  const bytes: number[] = [];
  for (let index = 1; index < text.length; index += 1) {
    const character = text[index]!;
    if (character === '"') {
      const name = utf8(Uint8Array.from(bytes));
      return name === null ? null : { name, rest: text.slice(index + 1) };
    }
    if (character !== '\\') {
      const code = text.codePointAt(index)!;
      bytes.push(...Buffer.from(String.fromCodePoint(code)));
      if (code > 0xffff) index += 1;
      continue;
    }
    const octal = /^[0-3][0-7]{2}/.exec(text.slice(index + 1, index + 4));
    if (octal !== null) {
      bytes.push(Number.parseInt(octal[0], 8));
      index += 3;
      continue;
    }
    const escaped = escapes[text[index + 1] ?? ''];
    if (escaped === undefined) return null;
    bytes.push(escaped);
    index += 1;
  }
  return null;
}

function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Writes a name as git does: quoted as in C where it holds a quote, a backslash, a control character or more than ASCII. */
export function quoteName(name: string): string {
  if (!/["\\\u0000-\u001f\u007f-\uffff]/.test(name)) return name;
  let quoted = '';
  for (const byte of Buffer.from(name)) {
    if (byte === 34 || byte === 92) quoted += `\\${String.fromCharCode(byte)}`;
    else if (byte < 32 || byte > 126) quoted += `\\${byte.toString(8).padStart(3, '0')}`;
    else quoted += String.fromCharCode(byte);
  }
  return `"${quoted}"`;
}

/** Without its first `count` folders; null when it has no more than that. */
export function stripped(name: string, count: number): string | null {
  const parts = name.split('/');
  return parts.length > count ? parts.slice(count).join('/') : null;
}

/** The two names of `diff --git OLD NEW`; names with spaces can be told apart where both are the same. */
export function namesOfGitHeader(line: string): { old: string; new: string } | null {
  const text = line.slice('diff --git '.length);
  if (text.startsWith('"')) {
    const first = readName(text);
    const second = first === null ? null : readName(first.rest.trimStart());
    return first === null || second === null ? null : { old: first.name, new: second.name };
  }
  const quotedSecond = text.indexOf(' "');
  if (quotedSecond > 0) {
    const second = readName(text.slice(quotedSecond + 1));
    return second === null ? null : { old: text.slice(0, quotedSecond), new: second.name };
  }
  const parts = text.split(' ');
  if (parts.length === 2) return { old: parts[0]!, new: parts[1]! };
  const middle = (text.length - 1) / 2;
  if (!Number.isInteger(middle) || text[middle] !== ' ') return null;
  const [old, new_] = [text.slice(0, middle), text.slice(middle + 1)];
  return old === new_ || stripped(old, 1) === stripped(new_, 1) ? { old, new: new_ } : null;
}
