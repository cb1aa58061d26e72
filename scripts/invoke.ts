// `npm run invoke -- Push events/push.json` runs functions of the synthesised stack, one after the other, on
// the embedded stores: what `sam local invoke` does, without Docker.

import { invokeCommand } from './invoke/invoke-command.ts'

process.exit(await invokeCommand(process.argv.slice(2)))
