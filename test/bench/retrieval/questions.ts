import { git, gitText } from '#kit/git/git.ts';
import { splitAtNul } from '#kit/git/tree.ts';

/** What history asks: which files does a change that is described so touch? */
export interface Question {
  readonly commit: string;
  /** What is searched: nothing of the change itself is in it. */
  readonly parent: string;
  /** Subject and body. */
  readonly query: string;
  /** Files that the commit touches and that its parent has. */
  readonly answers: readonly string[];
}

const mostAnswers = 10;
const isVersionBump =
  /^(v?\d+\.\d+|(chore(\(.*\))?: )?(release|bump|prepare|publish|version)\b.{0,20}\d+\.\d+|merge |initial commit)/i;

/**
 * Questions of the last commits that suit, oldest first. Of a branched history only the main line is walked, so that what is searched
 * grows commit by commit; where merges alone stand on it, every commit is taken.
 */
export async function questionsOf(gitDir: string, most: number, head = 'HEAD'): Promise<Question[]> {
  const line = await suitable(gitDir, head, ['--first-parent'], most);
  const all = line.length < most ? await suitable(gitDir, head, ['--topo-order'], most) : line;
  return (all.length > 2 * line.length ? all : line).toReversed();
}

async function suitable(
  gitDir: string,
  head: string,
  order: readonly string[],
  most: number,
): Promise<Question[]> {
  const listed = await gitText(['rev-list', '--no-merges', '--min-parents=1', ...order, head], { gitDir });
  const questions: Question[] = [];
  for (const commit of listed.split('\n').filter((line) => line !== '')) {
    if (questions.length === most) break;
    const question = await questionOf(gitDir, commit);
    if (question !== null) questions.push(question);
  }
  return questions;
}

async function questionOf(gitDir: string, commit: string): Promise<Question | null> {
  const shown = await gitText(['show', '-s', '--format=%P%n%B', commit], { gitDir });
  const [parent, ...lines] = shown.split('\n');
  const query = lines.join('\n').trim().slice(0, 20_000);
  if (query === '' || isVersionBump.test(query)) return null;
  const touched = [
    'diff-tree',
    '-r',
    '-z',
    '--no-renames',
    '--diff-filter=DMT',
    '--name-only',
    parent!,
    commit,
  ];
  const { stdout } = await git(touched, { gitDir });
  const answers = splitAtNul(stdout).map((path) => path.toString('utf8'));
  if (answers.length < 1 || answers.length > mostAnswers) return null;
  return { commit, parent: parent!, query, answers };
}
