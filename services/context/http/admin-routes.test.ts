import { expect } from 'chai';
import type { InvalidInput } from '#kit/errors.ts';
import type { RouteRequest } from '#kit/http/route.ts';
import { type AdminParts, adminRoutes } from './admin-routes.ts';

describe('The refresh that people ask for', () => {
  const asked: unknown[] = [];
  const parts = {
    desk: {
      refresh: async (request: unknown) => {
        asked.push(request);
        return { id: 'refresh_1', state: 'done' };
      },
    },
    ingestion: { known: async () => [] },
    check: () => Promise.reject(new Error('not asked for')),
    nameOf: async () => null,
  } as unknown as AdminParts;
  const refresh = adminRoutes(parts).find(
    ({ method, path }) => method === 'POST' && path.endsWith('/refresh'),
  )!;
  const ask = (body: object) =>
    refresh.handle({ body, identity: { name: 'mira', scopes: ['admin'] } } as unknown as RouteRequest);

  beforeEach(() => {
    asked.length = 0;
  });

  it('is refused where it would rebuild single repositories', async () => {
    for (const repositories of [['demo/hello'], []]) {
      const error = (await ask({ rebuild: true, repositories }).catch((thrown) => thrown)) as InvalidInput;
      expect(error).to.include({ code: 'invalid_input', status: 400 });
      expect(error.errors).to.have.length(1);
      expect(error.errors[0]!.pointer).to.equal('/repositories');
      expect(error.message).to.contain(JSON.stringify(repositories)).and.to.contain('must be left out');
    }
    expect(asked).to.deep.equal([]);
  });

  it('rebuilds all, and reads single repositories', async () => {
    await ask({ rebuild: true });
    await ask({ rebuild: true, full: true });
    await ask({ rebuild: false, repositories: ['demo/hello'] });
    expect(asked).to.have.length(3);
  });
});
