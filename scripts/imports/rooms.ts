// The rooms of this repository, and what each may import besides itself: imports only go down. The gate
// checks it (`scripts/imports.ts`).

const data = {
  /** Settings, names and tables that the stack is made of. */
  stack: [
    'shared',
    'aws/table.ts',
    'rate/core/bounds.ts',
    'engine/core/settings.ts',
    'engine/core/schedule.ts',
    'engine/core/limits.ts',
    'lambdas/runtime/names.ts',
    'lambdas/http/routes.ts',
    'lambdas/consumer/settings.ts',
  ],
  /** What a call costs. */
  prices: ['lib/constructs/function-settings.ts', 'lib/prices.ts'],
}

const core = ['engine/core', 'rate/core', 'aws', 'shared']
const requests = ['engine/requests', ...core]
const driver = ['engine/driver', 'rate', ...requests]
const storing = ['engine/storing', ...driver]
const engine = ['engine', 'rate', 'aws', 'shared']
const service = ['lambdas/runtime', ...engine]

/**
 * A file belongs to the room with the longest name that fits. If a room may import another folder, it may
 * import everything in it.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  // Browsers load it, so it imports nothing.
  shared: [],
  aws: ['shared'],
  'rate/core': ['aws', 'shared'],
  rate: ['aws', 'shared'],

  'engine/core': ['rate/core', 'aws', 'shared'],
  'engine/requests': core,
  'engine/driver': [...requests, 'rate'],
  'engine/storing': driver,
  'engine/verbs': storing,
  'engine/upkeep': ['engine/verbs', ...storing],
  engine: ['rate', 'aws', 'shared'],

  'lambdas/runtime': engine,
  'lambdas/http': service,
  'lambdas/background': service,
  'lambdas/consumer': service,
  // A message is read as a push's body is.
  'lambdas/inbox': ['lambdas/http', 'lambdas/background', ...service],
  'lambdas/handlers': ['lambdas/http', 'lambdas/background', 'lambdas/inbox', ...service],

  // Published by itself, and loaded by browsers.
  client: ['shared'],

  lib: data.stack,
  bin: ['lib'],
  local: [
    'shared/next-run.ts',
    'shared/options.ts',
    'aws/signing.ts',
    'lib/constructs/function-settings.ts',
    'lib/bundling/consumer-bundle.ts',
  ],
  testing: ['local', 'engine', 'aws', 'shared'],
  cli: ['client', 'local', 'lambdas/http', ...engine, ...data.prices],

  examples: ['lib', 'client', 'lambdas/consumer', 'engine', 'testing'],
  scripts: ['lib', 'local', 'lambdas', ...engine],
  bench: ['client', 'testing', 'lib', 'lambdas', ...engine],
  test: [
    'bench',
    'bin',
    'cli',
    'client',
    'lambdas',
    'lib',
    'local',
    'scripts',
    'testing',
    ...engine,
  ],
}
