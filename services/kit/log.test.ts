import { Writable } from 'node:stream';
import { expect } from 'chai';
import { Failed } from './errors.ts';
import { createLogger, type Logger } from './log.ts';
import { Redactor } from './redaction/redactor.ts';

function logTo(lines: string[], format: 'json' | 'text', level: 'info' | 'debug' = 'info'): Logger {
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const redactor = new Redactor();
  redactor.addSecret(secret);
  return createLogger({ service: 'core-test', level, format, redactor, stream });
}

const secret = 'hunter2-hunter2';

describe('The log', () => {
  it('writes one JSON object a line with what is bound to it', () => {
    const lines: string[] = [];
    const log = logTo(lines, 'json').child({ request_id: 'r1' });
    log.info('started', { port: 7817 });
    log.debug('not this');
    expect(lines).to.have.length(1);
    expect(JSON.parse(lines[0]!)).to.include({
      level: 'info',
      service: 'core-test',
      message: 'started',
      request_id: 'r1',
      port: 7817,
    });
  });

  it('hides secrets in messages, facts and the causes of errors', () => {
    for (const format of ['json', 'text'] as const) {
      const lines: string[] = [];
      const cause = new Error(`fetch https://x:${secret}@host failed`);
      const error = new Failed('push_failed', 'push failed', { cause, facts: { url: 'hunter2-hunter2' } });
      logTo(lines, format).error('hunter2-hunter2', {
        error,
        plain: cause,
        deep: [{ a: 'hunter2-hunter2' }],
      });
      expect(lines.join('')).to.contain('[redacted]').and.to.contain('push_failed');
      expect(lines.join('')).not.to.contain('hunter2');
    }
  });

  it('lets nothing from outside begin a line or steer a terminal', () => {
    const lines: string[] = [];
    logTo(lines, 'text').info('a\nb\u001b[2J\u202e', { fact: 'x\ny\u001b]' });
    expect(lines).to.have.length(1);
    expect(lines[0]!.trimEnd()).not.to.match(/[\n\u001b\u202e]/);
  });
});
