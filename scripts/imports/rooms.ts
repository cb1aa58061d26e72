// The rooms of this repository, and what each may import besides itself: imports only go down. The gate
// checks it (`scripts/imports.ts`).

const data = {
  /** Settings, names and tables that the stack is made of. */
  stack: [
    'lambdas/runtime/names.ts',
    'lambdas/consumer/settings.ts',
    'lambdas/consumer/settings.ts',
    'engine/core/settings.ts',
    'engine/core/schedule.ts',
    'engine/core/limits.ts',
    'engine/core/settings.ts',
    'engine/core/schedule.ts',
    'engine/core/schedule.ts',
    'shared/node-version.ts',
    'shared/errors.ts',
    'shared/errors.ts',
    'shared/options.ts',
    'shared/wire.ts',
    'aws/table.ts',
    'lambdas/http/routes.ts',
    'rate/core/bounds.ts',
    'lambdas/runtime/names.ts',
    'lambdas/runtime/names.ts',
    'lambdas/runtime/names.ts',
  ],
  /** What a call costs. */
  prices: ['lib/constructs/function-settings.ts', 'lib/prices.ts'],
}

const operationsOn = (...rooms: readonly string[]): readonly string[] => [
  ...rooms.map((room) => `lambdas/engine/operations/${room}`),
  'lambdas/engine/store',
  'lambdas/engine/core',
  'engine/item-verbs.ts',
  'lambdas/rate',
  'lambdas/foundation',
]

const engine = ['lambdas/engine', 'lambdas/rate', 'lambdas/foundation']
const service = [...engine, 'lambdas/runtime']

/**
 * A file belongs to the room with the longest name that fits. If a room may import another folder, it may
 * import everything in it.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  // The client bundles these few files, for browsers too, so they import nothing.
  'lambdas/foundation/shared': [],
  'lambdas/foundation': [],

  'lambdas/rate/core': ['lambdas/foundation'],
  'lambdas/rate/store': ['lambdas/rate/core', 'lambdas/foundation'],
  'lambdas/rate/operations': ['lambdas/rate/store', 'lambdas/rate/core', 'lambdas/foundation'],
  'lambdas/rate': ['lambdas/foundation'],

  'lambdas/engine/core': ['lambdas/rate/core', 'lambdas/foundation'],
  'lambdas/engine/store': ['lambdas/engine/core', 'lambdas/rate/core', 'lambdas/foundation'],
  // What every verb is made of, then what several verbs share, then the verbs.
  'lambdas/engine/operations/attempts': operationsOn(),
  'lambdas/engine/operations/lanes': operationsOn('attempts'),
  'lambdas/engine/operations/later': operationsOn('attempts', 'lanes'),
  'lambdas/engine/operations/moving': operationsOn('attempts', 'lanes', 'later'),
  'lambdas/engine/operations/looking': operationsOn('attempts'),
  'lambdas/engine/operations/pushing': operationsOn('attempts', 'lanes', 'later', 'moving'),
  'lambdas/engine/operations/popping': operationsOn('attempts', 'later'),
  'lambdas/engine/operations/settling': operationsOn('attempts', 'later', 'moving'),
  'lambdas/engine/operations/scheduling': operationsOn('attempts', 'lanes', 'moving', 'pushing'),
  'lambdas/engine/operations/sweeping': operationsOn(
    'attempts',
    'lanes',
    'later',
    'moving',
    'looking',
    'scheduling',
  ),
  'lambdas/engine/operations/configuring': operationsOn('attempts'),
  'lambdas/engine': ['lambdas/rate', 'lambdas/foundation'],

  'lambdas/runtime': engine,
  'lambdas/http': service,
  // How to work one queue, shared by all consumers: the client bundles this too.
  'lambdas/consumer/core': ['lambdas/foundation/shared'],
  'lambdas/consumer': service,
  'lambdas/background': service,
  // A message is read as a push's body is.
  'lambdas/inbox': [...service, 'lambdas/http', 'lambdas/background'],
  'lambdas/handlers': [...service, 'lambdas/http', 'lambdas/background', 'lambdas/inbox'],

  // Published by itself, and loaded by browsers.
  client: ['lambdas/foundation/shared', 'lambdas/consumer/core'],

  lib: data.stack,
  bin: ['lib'],
  local: [
    'aws/signing.ts',
    'lib/constructs/function-settings.ts',
    'lib/bundling/bundling.ts',
    'lib/bundling/consumer-bundle.ts',
  ],
  testing: ['local', 'lambdas/engine', 'lambdas/foundation'],
  cli: ['client', 'local', 'lambdas/http', ...engine, ...data.prices],

  examples: ['lib', 'client', 'lambdas/consumer', 'lambdas/engine', 'testing'],
  scripts: ['lib', 'local', 'lambdas'],
  bench: ['client', 'testing', 'lib', 'lambdas'],
  test: ['bench', 'bin', 'cli', 'client', 'lambdas', 'lib', 'local', 'scripts', 'testing'],
}
