import { expect } from 'chai';
import type { IngressReply } from '#kit/contracts/bridge/events.ts';
import { Unauthorized } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import { IngressLog } from './ingress-routes.ts';

describe('The log of events that come in', () => {
  let lines: [string, object | undefined][];
  let now: number;
  let log: IngressLog;
  beforeEach(() => {
    lines = [];
    now = 0;
    const logger: Logger = {
      error() {},
      warn() {},
      info: (text, facts) => void lines.push([text, facts]),
      debug() {},
      child: () => logger,
    };
    log = new IngressLog(logger, () => now);
  });

  const reply: IngressReply = {
    event_id: 'e1',
    state: 'pending',
    duplicate: false,
    target: null,
    role: null,
    run_id: null,
    reason: null,
    notes: [],
    unknown_members: [],
  };

  it('says what became of each, and why', () => {
    log.answered('dashboard', reply);
    const reason = { code: 'status_not_planned', message: 'status "x" is none of those' };
    log.answered('dashboard', { ...reply, state: 'skipped', reason });
    log.answered('dashboard', { ...reply, duplicate: true });
    log.refused('github', new Unauthorized('signature_invalid', 'it is not that of the body'));
    expect(lines).to.deep.equal([
      ['event pending', { source: 'dashboard', event_id: 'e1' }],
      [
        'event skipped: status "x" is none of those',
        { source: 'dashboard', event_id: 'e1', code: 'status_not_planned' },
      ],
      ['event refused: it is not that of the body', { source: 'github', code: 'signature_invalid' }],
    ]);
  });

  it('has thirty lines a minute, and then the number of lines left out', () => {
    for (let nth = 0; nth < 1_000; nth++) log.answered('gitea', reply);
    expect(lines).to.have.length(30);
    now = 60_000;
    log.answered('gitea', reply);
    log.answered('gitea', reply);
    expect(lines.slice(30).map(([, facts]) => facts)).to.deep.equal([
      { source: 'gitea', event_id: 'e1', not_told_before: 970 },
      { source: 'gitea', event_id: 'e1' },
    ]);
  });
});
