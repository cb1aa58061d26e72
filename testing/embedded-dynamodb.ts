export {
  findDynoxide,
  noDynoxideError,
  type Platform,
} from '../local/stores/dynoxide-binary.ts'
