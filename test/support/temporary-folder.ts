import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'

/** A folder for a test. Nobody need remove it: it goes with the folder of the whole run. */
export const temporaryFolder = (name = 'test'): string =>
  mkdtempSync(join(inject('folderOfTheRun'), `${name}-`))
