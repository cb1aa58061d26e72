// How much our functions log, from everything to errors only: the setting of a service, of a function, and of a test.

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]
