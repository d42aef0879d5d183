import { limit } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { ActionDefinition, Risk, ValidationPlan } from '../../action.ts';
import type { Paint, Symbols } from '../terminal.ts';

/** What an action does, in two short texts: the thing itself, and what to know about it. Safe to print. */
export function actionText(action: ActionDefinition, symbols: Symbols): { main: string; note: string } {
  const { main, note } = describe(action, symbols);
  return { main: visibleLine(main), note: visibleLine(note) };
}

function describe(action: ActionDefinition, symbols: Symbols): { main: string; note: string } {
  switch (action.kind) {
    case 'create_branch':
      return { main: action.params.branch, note: '' };
    case 'apply_patch': {
      const { files } = action.params;
      const added = files.reduce((sum, file) => sum + (file.added ?? 0), 0);
      const removed = files.reduce((sum, file) => sum + (file.removed ?? 0), 0);
      const names = files.slice(0, 3).map(({ path }) => path);
      const more = files.length > 3 ? ` and ${files.length - 3} more` : '';
      const count = `${files.length} ${files.length === 1 ? 'file' : 'files'}`;
      return {
        main: `${count}, +${added} ${symbols.minus}${removed}`,
        note: `${names.join(', ')}${more}`,
      };
    }
    case 'run_validation':
      return {
        main: action.params.plan.commands.map(({ run }) => run).join(' && '),
        note: `(${validationText(action.params.plan, action.params.sandbox)})`,
      };
    case 'commit':
      return { main: action.params.message.split('\n', 1)[0]!, note: '' };
    case 'push_branch': {
      const { workflows } = action.params;
      return {
        main: 'origin',
        note: workflows.length > 0 ? `starts workflow ${workflows.map(baseName).join(', ')}` : '',
      };
    }
    case 'open_pull_request':
      return { main: `into ${action.params.base}`, note: '' };
    case 'comment_issue':
      return action.params.body.includes('{{pull_request}}')
        ? { main: 'links the pull request', note: '' }
        : { main: firstLine(action.params.body), note: '' };
  }
}

/** For example `bubblewrap, no network, 10 min; prepared with network`. */
export function validationText(plan: ValidationPlan, sandbox: string): string {
  const where = sandbox === 'none' ? 'NO SANDBOX' : `${sandbox}, no network`;
  const network = plan.prepare_network ? 'with network' : 'without network';
  const prepared = plan.prepare.length > 0 ? `; prepared ${network}` : '';
  return `${where}, ${limit(plan.limits.seconds)}${prepared}`;
}

export function riskPaint(risk: Risk, paint: Paint): (text: string) => string {
  switch (risk) {
    case 'low':
      return paint.green;
    case 'medium':
      return paint.yellow;
    case 'high':
      return paint.red;
    case 'critical':
      return (text) => paint.bold(paint.red(text));
  }
}

/** Four letters at most, for a narrow column. */
export function riskWord(risk: Risk): string {
  return { low: 'low', medium: 'med', high: 'high', critical: 'crit' }[risk];
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0]!;
}
