import { randomBytes } from 'node:crypto';
import { CoreError } from '#kit/errors.ts';

const markOf = (id: string) => `1.1 core-model-gateway-${id}`;
const marks = /1\.1 core-model-gateway-[0-9a-f]{16}/g;
/** More gateways behind one another are nobody's intention. */
const longestWay = 8;

/** A call came back to a gateway that it had passed. */
export class CallLoop extends CoreError {
  override readonly status = 508;

  constructor(what: string) {
    super(
      'call_loop',
      `${what}: an upstream that is configured here, or behind it, leads back to this gateway`,
      {
        hint: 'Correct base_url of that upstream in models.json',
      },
    );
  }
}

/** By its `via` a gateway knows its own calls again, whatever the address under which it is an upstream. Source: RFC 9110, 7.6.3. */
export class ViaLoopGuard {
  readonly #mark = markOf(randomBytes(8).toString('hex'));

  /**
   * The `via` for upstreams of a call that came with this one; of it, the marks of gateways alone go on.
   * @throws CallLoop
   */
  onward(via: string | undefined): string {
    if (via === undefined) return this.#mark;
    const passed: readonly string[] = via.match(marks) ?? [];
    if (passed.includes(this.#mark)) throw new CallLoop('the call has been here already');
    if (passed.length >= longestWay) throw new CallLoop(`the call has passed ${passed.length} gateways`);
    return [...passed, this.#mark].join(', ');
  }
}
