import type { ConfiguringVerbs } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { configuration, configure, unconfigure } from './configure.ts'
import { configureQueuePatterns, deployQueuePatterns, queuePatterns } from './configure-patterns.ts'

export const configuringVerbs = (engine: Engine): ConfiguringVerbs => ({
  configuration: (queue) => configuration(engine, queue),
  configure: (queue, change, request) => configure(engine, queue, change, request),
  unconfigure: (queue, request) => unconfigure(engine, queue, request),
  patterns: () => queuePatterns(engine),
  configurePatterns: (patterns, request) => configureQueuePatterns(engine, patterns, request),
  deployPatterns: (patterns, hash) => deployQueuePatterns(engine, patterns, hash),
})
