import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { each, executePoints, planPoints, secondPlanPoints, undoPoints } from './points.ts';
import { vcsCrashPoints } from './vcs-points.ts';

/** Points that have their own tests. */
const coveredElsewhere = [
  // test/contract/run-store-hosts.test.ts
  'run_sent',
  // services/agentd/runs/prune.test.ts
  'run_buried',
  // test/integration/execution-graph-delivery.test.ts
  ...['context.plan_delivered', 'context.delivered'],
  // test/integration/context-ingest-crash.test.ts
  ...['ingest_between_batches', 'ingest_between_links', 'ingest_between_closings', 'ingest_before_finish'],
  // services/context/store/open-record.test.ts
  ...['record_damage_noted', 'record_set_aside', 'record_salvaged', 'record_remade'],
  // services/kit/tokens/tokens.test.ts
  ...['token.rotation.text_kept', 'token.registered'],
  // test/contract/model-ledger-crash.test.ts
  'ledger.reserved',
  // test/integration/bus-engine-crash.test.ts
  'cron-fired',
  // test/integration/bus-worker-kill.test.ts
  ...['worker.before_request', 'worker.requested', 'worker.waiting', 'worker.planned'],
  // test/integration/bridge-crash.test.ts
  ...['bridge.event_stored', 'bridge.event_claimed', 'bridge.event_planned', 'bridge.event_ended'],
  ...['bridge.summary_delivered', 'bridge.schedule_stored', 'bridge.caught_up'],
  // test/integration/context-hosts.test.ts
  ...['context.journal_written', 'context.backup_copied', 'context.pieces_noted', 'context.piece_written'],
  ...['context.backup_written', 'context.backup_named', 'context.backup_collected'],
  ...['context.restore_fetched', 'context.restore_placed'],
  // test/integration/signed-approvals.test.ts
  ...['decision.checked', 'decision.recorded'],
  // test/integration/notifications.test.ts
  ...['notification.queued', 'notification.sent'],
  // test/integration/who-must-agree.test.ts
  ...['standing.checked', 'standing.recorded'],
  // test/integration/agent-planning.test.ts
  ...['agent.started', 'agent.prompted', 'agent.ended', 'agent.read_back'],
  // test/integration/agent-commands.test.ts
  ...['config.checked', 'config.written'],
  // test/integration/backup-crash.test.ts
  ...['backup.copied', 'backup.written', 'backup.named', 'restore.unpacked', 'restore.moving'],
  ...['restore.moved', 'restore.placed', 'restore.retired'],
  // test/integration/storage-migrate.test.ts
  ...['storage.begun', 'storage.rows_written', 'storage.copied', 'storage.compared'],
  ...['storage.source_left', 'storage.target_in_use', 'storage.switched'],
];

describe('the crash matrix', () => {
  it('knows every crash point that the code has', () => {
    const inCode = new Set(crashPointsIn(fileURLToPath(new URL('../../services', import.meta.url))));
    const covered = [
      ...planPoints,
      ...[...secondPlanPoints, ...executePoints].map((point) => point.split(':')[0]!),
      ...undoPoints,
      ...vcsCrashPoints.git,
      ...vcsCrashPoints.jj,
      ...each('execute.reconciled'),
      ...coveredElsewhere,
    ];
    const families = [
      'execute.before_intent',
      'execute.intent',
      'execute.effect',
      'execute.reconciled',
      'undo.intent',
      'undo.effect',
      'undo.result',
      'effect.permitted',
      'effect.leaving',
    ];
    const expected = covered.map(
      (point) => families.find((family) => point.startsWith(`${family}.`)) ?? point,
    );
    expect([...inCode].sort()).to.deep.equal([...new Set(expected)].sort());
  });
});

function crashPointsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(
      (path) =>
        path.endsWith('.ts') &&
        !path.endsWith('.test.ts') &&
        !path.endsWith('crash-point.ts') &&
        !path.endsWith('crash-points.ts'),
    )
    .flatMap((path) => {
      const text = readFileSync(join(folder, path), 'utf8');
      const handedOn = [...text.matchAll(/'(vcs\.(?:git|jj)\.[a-z_]+)'/g)].map((match) => match[1]!);
      const called = [...text.matchAll(/crashPoint\(\s*[`']([a-z_.-]+?)\.?(?:\$\{[^}]*\})?[`']\s*\)/g)].map(
        (match) => match[1]!,
      );
      return [...called, ...handedOn];
    });
}
