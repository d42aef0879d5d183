import { stringThat } from '#kit/decode.ts';

/** The rules of `git check-ref-format --branch`. */
export function isBranchName(name: string): boolean {
  if (name === '' || name === '@' || name === 'HEAD') return false;
  // biome-ignore lint/complexity/useRegexLiterals: one list of what git forbids
  return !new RegExp(String.raw`[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|//|^[-/]|[/.]$|(^|/)\.|\.lock(/|$)`).test(
    name,
  );
}

/** Why git or we do not accept the name of a branch that Core makes; null where both do. */
export function branchNameProblem(name: string): string | null {
  if (name === '' || name.length > 200) return 'must have 1 to 200 characters';
  if (name.startsWith('-')) return "must not start with '-'";
  if (name.startsWith('refs/')) return "must not start with 'refs/'";
  if (name === 'HEAD' || name === '@') return 'is a name of git itself';
  if (!/^[\x21-\x7e]+$/.test(name) || name.includes('"')) {
    return "must be printable ASCII without spaces and without '\"'";
  }
  return isBranchName(name) ? null : "breaks git's rules for names (see git help check-ref-format)";
}

/** What the names of branches that Core makes begin with: a folder, or the start of a word. */
export const BranchPrefix = stringThat(
  'BranchPrefix',
  "1 to 100 letters, digits, '.', '_', '-' and '/' that begin a branch name of git and end with '/', '-' or '_'; for example core/",
  (text) =>
    text.length <= 100 &&
    /^[A-Za-z0-9][A-Za-z0-9._/-]*(?<=[/_-])$/.test(text) &&
    branchNameProblem(`${text}1`) === null,
);
