from wfc.cli.main import main

main()
