import { Conflict } from './errors.ts';

/** Leave to make one effect outside, for as long as the lease that it is made under is surely held. */
export interface Permit {
  /** Called in the same turn in which the effect leaves. @throws PermitEnded, Conflict (`lease_lost`); nothing left then */
  require(): void;
}

/** Too long ago was the lease known to be held; nothing left. Another permit says whether it still is. */
export class PermitEnded extends Conflict {
  constructor(name: string) {
    super('lease_lost', `${name} may be lost to another process: this one was stopped for a while`, {
      hint: 'It goes on there, or with ./core resume RUN.',
    });
  }
}
