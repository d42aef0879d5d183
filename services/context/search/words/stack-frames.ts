/** A file and line that a stack trace or a compiler names. */
export interface Frame {
  /** As it is written there. */
  readonly written: string;
  /** Names of folders and the file's, outermost first. */
  readonly names: readonly string[];
  readonly line: number;
}

const maxFrames = 50;
const maxLineLength = 1_000;

const python = /^\s*File "([^"]{1,500})", line (\d{1,7})/;
const csharp = / in (\S.{0,500}?):line (\d{1,7})/;
const java =
  /\bat (?:[\w.@-]{1,100}\/)*((?:[\w$]{1,100}\.){2,20})[\w$<>]{1,100}\(([\w$]{1,100}\.[a-z]{1,8}):(\d{1,7})\)/;
const php = / in (\S{1,500}) on line (\d{1,7})/;
/** `name.ext:line`, also with a column: JavaScript, Go, Rust, Ruby and most compilers; `name.ext(line`: PHP, MSBuild and tsc. */
const place = /^([^:]{0,20}:\/{0,3})?([^:]{1,500}?\.[A-Za-z][A-Za-z0-9]{0,7})(?::|\()(\d{1,7})(?!\d)/;

/** The frames of a text, the one called last first: Python alone has it at the end. */
export function framesOf(text: string): Frame[] {
  const frames: Frame[] = [];
  let reversed: Frame[] = [];
  const flush = () => {
    frames.push(...reversed.reverse());
    reversed = [];
  };
  for (const line of text.split(/\r?\n/)) {
    const cut = line.slice(0, maxLineLength);
    const fromPython = python.exec(cut);
    if (fromPython !== null) reversed.push(frameOf(fromPython[1]!, fromPython[2]!));
    else {
      if (/^\S/.test(cut)) flush();
      const found = otherFrame(cut);
      if (found !== null) frames.push(found);
    }
  }
  flush();
  return frames.slice(0, maxFrames);
}

function otherFrame(line: string): Frame | null {
  const fromJava = java.exec(line);
  if (fromJava !== null) {
    const packages = fromJava[1]!.split('.').slice(0, -2);
    return frameOf([...packages, fromJava[2]!].join('/'), fromJava[3]!);
  }
  for (const pattern of [csharp, php]) {
    const found = pattern.exec(line);
    if (found !== null) return frameOf(found[1]!, found[2]!);
  }
  for (const word of line.split(/[\s"'`<>|,;]+|\((?!\d)|\)/)) {
    const found = place.exec(word);
    if (found !== null) return frameOf(found[2]!, found[3]!);
  }
  return null;
}

function frameOf(written: string, line: string): Frame {
  const names = written.split(/[/\\]/).filter((name) => name !== '' && name !== '.' && !name.endsWith(':'));
  return { written: `${written}:${line}`, names, line: Number(line) };
}
