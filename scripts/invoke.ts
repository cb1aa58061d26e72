// `npm run invoke -- Push events/push.json`: what `sam local invoke` does with Docker, without it.
// Runs functions of the synthesised stack, one after the other, on the embedded stores.

import { invokeCommand } from './invoke/invoke-command.ts'

process.exit(await invokeCommand(process.argv.slice(2)))
